package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// zipOf is a zip archive with these entries, whatever their headers say; the comment of an entry is its content.
func zipOf(t *testing.T, entries ...zip.FileHeader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		content := e.Comment
		e.Comment = ""
		if e.UncompressedSize64 == 0 {
			e.UncompressedSize64 = uint64(len(content))
		}
		e.CompressedSize64 = uint64(len(content))
		f, err := w.CreateRaw(&e)
		if err == nil {
			_, err = io.WriteString(f, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipEntry(name, content string, mode fs.FileMode) zip.FileHeader {
	h := zip.FileHeader{Name: name, Comment: content}
	h.SetMode(mode)
	return h
}

// pathsOf are n files, each in a deep folder of its own.
func pathsOf(n int) []tar.Header {
	var entries []tar.Header
	for i := range n {
		entries = append(entries, regular(fmt.Sprintf("%d/%sf", i, strings.Repeat("d/", 90)), ""))
	}
	return entries
}

func TestAnArchiveThatNoneShouldBeIsRejected(t *testing.T) {
	link := func(name, target string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
	}
	folder := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755} }
	of := func(entries ...tar.Header) []byte { return tarOf(t, entries...) }
	good := tarFiles(t, map[string]string{"a.yaml": strings.Repeat("a", 1000)})
	goodZip := zipFiles(t, map[string]string{"a.yaml": strings.Repeat("a", 1000)})
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"up":                        {of(regular("../evil", "x")), `the name "../evil", which is no clean relative path`},
		"up in the middle":          {of(regular("a/../../evil", "x")), "no clean relative path"},
		"up and back":               {of(regular("a/../b", "x")), "no clean relative path"},
		"absolute":                  {of(regular("/etc/evil", "x")), `"/etc/evil", which is no clean relative path`},
		"no name":                   {of(regular("", "x")), "no clean relative path"},
		"the root as a file":        {of(regular(".", "x")), `two entries with the name "."`},
		"backslash":                 {of(regular(`a\..\b`, "x")), "a backslash or NUL"},
		"long name":                 {of(regular(strings.Repeat("n", 256), "x")), "a name of 256 bytes, and 255 are possible"},
		"long path":                 {of(regular(strings.Repeat("n/", 2500)+"n", "x")), "no clean relative path"},
		"deep":                      {of(regular(strings.Repeat("d/", 101)+"f", "x")), "more than 100 folders deep"},
		"symlink up":                {of(link("a", "../evil")), `symlink "a" leads out of the archive`},
		"symlink up from a folder":  {of(link("d/a", "../../evil")), "leads out of the archive"},
		"symlink to an absolute":    {of(link("a", "/etc/passwd")), "leads out of the archive"},
		"symlink to nothing":        {of(link("a", "")), "a target that no symlink can have"},
		"long symlink":              {of(link("a", strings.Repeat("x", 4096))), "a target that no symlink can have"},
		"file through a symlink":    {of(folder("d"), link("a", "d"), regular("a/owned", "x")), `"a" is both a file and a folder`},
		"hard link":                 {of(regular("a", "x"), tar.Header{Typeflag: tar.TypeLink, Name: "b", Linkname: "a"}), `"b" is a hard link`},
		"character device":          {of(tar.Header{Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}), `"null" is of the type '3'`},
		"block device":              {of(tar.Header{Typeflag: tar.TypeBlock, Name: "sda"}), `"sda" is of the type '4'`},
		"named pipe":                {of(tar.Header{Typeflag: tar.TypeFifo, Name: "pipe"}), `"pipe" is of the type '6'`},
		"two files":                 {of(regular("a", "x"), regular("a", "y")), `two entries with the name "a"`},
		"file and folder":           {of(regular("a", "x"), folder("a")), `"a" is both a file and a folder`},
		"folder and file":           {of(folder("a"), regular("a", "x")), `two entries with the name "a"`},
		"file below a file":         {of(regular("a", "x"), regular("a/b", "x")), `"a" is both a file and a folder`},
		"symlink and file":          {of(link("a", "b"), regular("a", "x")), `two entries with the name "a"`},
		"truncated":                 {good[:len(good)-10], "the archive is truncated"},
		"without the checksum":      {good[:len(good)-8], "the archive is truncated, or"},
		"changed":                   {append(bytes.Clone(good[:len(good)-8]), 1, 2, 3, 4, 5, 6, 7, 8), "the archive is damaged"},
		"garbage behind":            {append(bytes.Clone(good), "garbage"...), "or something follows its end"},
		"garbage in the padding":    {gzipped(t, append(gunzipped(t, good), "garbage"...)), "or something follows its end"},
		"a second archive":          {append(bytes.Clone(good), good...), "or something follows its end"},
		"gzip of something else":    {gzipped(t, bytes.Repeat([]byte("hello"), 1000)), "the archive is damaged: archive/tar: invalid tar header"},
		"only a magic number":       {magicGzip, "the archive is truncated"},
		"zip: up":                   {zipOf(t, zipEntry("../evil", "x", 0o644)), "no clean relative path"},
		"zip: absolute":             {zipOf(t, zipEntry("/evil", "x", 0o644)), "no clean relative path"},
		"zip: backslash":            {zipOf(t, zipEntry(`a\b`, "x", 0o644)), "a backslash or NUL"},
		"zip: NUL":                  {zipOf(t, zipEntry("a\x00b", "x", 0o644)), "a backslash or NUL"},
		"zip: symlink up":           {zipOf(t, zipEntry("a", "../evil", fs.ModeSymlink)), "leads out of the archive"},
		"zip: device":               {zipOf(t, zipEntry("a", "", fs.ModeDevice)), `"a" is a D---------`},
		"zip: two files":            {zipOf(t, zipEntry("a", "x", 0o644), zipEntry("a", "y", 0o644)), `two entries with the name "a"`},
		"zip: larger than it says":  {zipOf(t, lying("a", "0123456789", 5)), "the archive is damaged"},
		"zip: smaller than it says": {zipOf(t, lying("a", "0123456789", 50)), "the archive is truncated"},
		"zip: claims too much":      {zipOf(t, lying("a", "0123456789", 1<<40)), `file a holds 1099511627776 bytes, and the limit of one file is`},
		"zip: negative size":        {zipOf(t, lying("a", "0123456789", 1<<63)), "the limit of one file is"},
		"zip: encrypted":            {zipOf(t, zip.FileHeader{Name: "a", Comment: "x", Flags: zipEncrypted}), `"a" is encrypted`},
		"zip: unknown compression":  {zipOf(t, zip.FileHeader{Name: "a", Comment: "x", Method: 99}), "unsupported compression algorithm"},
		"zip: changed":              {zipOf(t, zip.FileHeader{Name: "a", Comment: "x", CRC32: 7}), "the archive is damaged: zip: checksum error"},
		"zip: truncated":            {goodZip[:len(goodZip)-5], "the archive is damaged"},
		"zip: half":                 {goodZip[:len(goodZip)/2], "the archive is damaged"},
		"zip: garbage behind":       {append(bytes.Clone(goodZip), "garbage"...), "or something follows its end"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWithoutGit(t)
			server := serveFile(t, test.content, nil)
			w.fail(archiveRequest(server.URL+"/app.tgz", "", ""), "fetch "+server.URL+"/app.tgz: unpack archive sha256:", test.want)
			w.wantCached()
			w.wantNoLeftovers()
		})
	}
}

// lying is an entry that says another size than it has.
func lying(name, content string, size uint64) zip.FileHeader {
	return zip.FileHeader{Name: name, Comment: content, UncompressedSize64: size}
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gunzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatHonestArchivesHaveIsAccepted(t *testing.T) {
	w := newWorldWithoutGit(t)
	for name, test := range map[string]struct {
		content []byte
		want    map[string]string
	}{
		"as git archive writes it": {tarOf(t, tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "6b0c"}},
			tar.Header{Typeflag: tar.TypeDir, Name: "app/"}, regular("app/a.yaml", "a")), map[string]string{"app/a.yaml": "a"}},
		"as tar -C . writes it": {tarOf(t, tar.Header{Typeflag: tar.TypeDir, Name: "./"}, regular("./a.yaml", "a")), map[string]string{"a.yaml": "a"}},
		"a folder named twice": {tarOf(t, regular("d/a.yaml", "a"), tar.Header{Typeflag: tar.TypeDir, Name: "d/"},
			tar.Header{Typeflag: tar.TypeDir, Name: "d/"}), map[string]string{"d/a.yaml": "a"}},
		"names that differ in case": {tarOf(t, regular("a.yaml", "a"), regular("A.yaml", "A")), map[string]string{"a.yaml": "a", "A.yaml": "A"}},
		"a symlink inside": {tarOf(t, regular("d/a.yaml", "a"), tar.Header{Typeflag: tar.TypeSymlink, Name: "e/b.yaml", Linkname: "../d/a.yaml"}),
			map[string]string{"d/a.yaml": "a", "e/b.yaml": "a"}},
		"more padding":          {gzipped(t, append(gunzipped(t, tarFiles(t, map[string]string{"a": "a"})), make([]byte, 20<<10)...)), map[string]string{"a": "a"}},
		"nothing":               {tarOf(t), map[string]string{}},
		"zip: nothing":          {zipOf(t), map[string]string{}},
		"zip: a symlink inside": {zipOf(t, stored("d/a.yaml", "a", 0o644), stored("b.yaml", "d/a.yaml", fs.ModeSymlink)), map[string]string{"d/a.yaml": "a", "b.yaml": "a"}},
		"zip: a folder":         {zipOf(t, stored("d/", "", fs.ModeDir), stored("d/a.yaml", "a", 0o644)), map[string]string{"d/a.yaml": "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := serveFile(t, test.content, nil)
			wantFiles(t, w.fetch(archiveRequest(server.URL+"/app.tgz", "", "")).FS, test.want)
		})
	}
}

// stored is an honest entry.
func stored(name, content string, mode fs.FileMode) zip.FileHeader {
	h := zipEntry(name, content, mode)
	h.CRC32 = crc32.ChecksumIEEE([]byte(content))
	return h
}

// bomb is a gzip stream with a header, then zeros.
func bomb(t *testing.T, header tar.Header, zeros int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	if header.Name != "" {
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.CopyN(z, zeroReader{}, zeros); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// longListing is a zip archive whose list of files has many entries, and is all that it has.
func longListing(n int) []byte {
	entry := append(make([]byte, 46), "1234567"...)
	copy(entry, "PK\x01\x02")
	binary.LittleEndian.PutUint16(entry[28:], 7)
	b := append([]byte("PK\x03\x04"), make([]byte, 26)...)
	start := len(b)
	b = append(b, bytes.Repeat(entry, n)...)
	end := make([]byte, zipEndLength)
	copy(end, magicEmptyZip)
	binary.LittleEndian.PutUint16(end[8:], uint16(n))
	binary.LittleEndian.PutUint16(end[10:], uint16(n))
	binary.LittleEndian.PutUint32(end[12:], uint32(len(b)-start))
	binary.LittleEndian.PutUint32(end[16:], uint32(start))
	return append(b, end...)
}

// overlapping is a zip archive whose n files are all the same zeros in it.
func overlapping(t *testing.T, n int, zeros int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("f000")
	if err == nil {
		_, err = io.CopyN(f, zeroReader{}, zeros)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	archive := b.Bytes()
	end := archive[len(archive)-zipEndLength:]
	start := binary.LittleEndian.Uint32(end[16:])
	entry := archive[start : len(archive)-zipEndLength]
	var list []byte
	for i := range n {
		list = append(list, bytes.Replace(entry, []byte("f000"), fmt.Appendf(nil, "f%03d", i), 1)...)
	}
	end = bytes.Clone(end)
	binary.LittleEndian.PutUint16(end[8:], uint16(n))
	binary.LittleEndian.PutUint16(end[10:], uint16(n))
	binary.LittleEndian.PutUint32(end[12:], uint32(len(list)))
	return slices.Concat(archive[:start], list, end)
}

func TestAnArchiveThatIsTooMuchIsRejectedInBoundedTimeAndMemory(t *testing.T) {
	const megabyte = 1 << 20
	many := func(n int, name string) []tar.Header {
		var entries []tar.Header
		for i := range n {
			entries = append(entries, regular(fmt.Sprintf(name, i), ""))
		}
		return entries
	}
	for name, test := range map[string]struct {
		content []byte
		change  func(o *Options)
		want    string
	}{
		"a file of 10 GiB": {content: bomb(t, tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 10 << 30}, 64*megabyte), want: "file a holds 10737418240 bytes"},
		"256 MiB of padding": {content: bomb(t, tar.Header{}, 256*megabyte), change: func(o *Options) { o.MaxArtifactSize = megabyte },
			want: "its files hold more than 1048576 bytes"},
		"many files together": {content: tarOf(t, regular("a", strings.Repeat("a", megabyte)), regular("b", strings.Repeat("b", megabyte))),
			change: func(o *Options) { o.MaxArtifactSize = 3 * megabyte / 2 }, want: "its files hold more than 1572864 bytes"},
		"200,000 entries":    {content: tarOf(t, many(200_000, "f%d")...), want: "more than 100000 files and folders"},
		"200,000 folders":    {content: tarOf(t, pathsOf(2_200)...), want: "more than 100000 files and folders"},
		"a zip of 200,000":   {content: longListing(200_000), want: "more than 100000 files and folders"},
		"a zip of 2,000,000": {content: longListing(2_000_000), want: "its list of files has more than 16777216 bytes"},
		"zip: many files together": {content: zipFiles(t, map[string]string{"a": strings.Repeat("a", megabyte), "b": strings.Repeat("b", megabyte)}),
			change: func(o *Options) { o.MaxArtifactSize = 3 * megabyte / 2 }, want: "its files hold more than 1572864 bytes"},
		"a zip of 10 GiB in 100 KiB": {content: overlapping(t, 120, 90*megabyte), want: "its files hold more than 268435456 bytes"},
		"a large archive itself":     {content: bytes.Repeat([]byte("x"), 70*megabyte), change: func(o *Options) { o.MaxArtifactSize = megabyte }, want: "its files hold more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*Options) {}
			}
			w := newWorldWithoutGit(t, change)
			server := serveFile(t, test.content, nil)
			inBounds(t, func() { w.fail(archiveRequest(server.URL+"/app.tgz", "", ""), test.want) })
			w.wantCached()
			w.wantNoLeftovers()
		})
	}
}

func TestUnpackingEndsWithTheContext(t *testing.T) {
	for name, content := range map[string][]byte{"tar": tarFiles(t, appFiles), "zip": zipFiles(t, appFiles)} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "archive"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			if _, err := file.Write(content); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = root.Close() }()
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("enough"))
			l := limits{artifact: 1 << 20, file: 1 << 20, entries: 100}
			if err := l.unpack(ctx, file, int64(len(content)), root); err == nil || isContentError(err) || err.Error() != "enough" {
				t.Errorf("error %v", err)
			}
		})
	}
}
