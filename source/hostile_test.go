package source

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/convoy-dev/convoy/internal/gitserver"
)

// gitIn runs git on the repository with an input, for objects that no honest command makes.
func (w *world) gitIn(stdin string, args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "git", append([]string{"--git-dir", w.repo.Dir}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %s: %v: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) blob(content string) string { return w.gitIn(content, "hash-object", "-w", "--stdin") }

// treeOf stores a tree as it is given: "<mode> <name>", hash, "<mode> <name>", hash, …
func (w *world) treeOf(entries ...string) string {
	w.Helper()
	var raw strings.Builder
	for i := 0; i < len(entries); i += 2 {
		hash, err := hex.DecodeString(entries[i+1])
		w.must(err)
		raw.WriteString(entries[i] + "\x00" + string(hash))
	}
	return w.gitIn(raw.String(), "hash-object", "-t", "tree", "--literally", "-w", "--stdin")
}

// point makes main a commit with this tree.
func (w *world) point(tree string) string {
	w.Helper()
	commit := w.git("commit-tree", "-m", "hostile", tree)
	w.git("update-ref", "refs/heads/main", commit)
	return commit
}

func TestATreeThatNoRepositoryMayHaveIsRejected(t *testing.T) {
	for name, test := range map[string]struct {
		tree func(w *world) string
		want string
	}{
		"..":        {func(w *world) string { return w.treeOf("100644 ..", w.blob("x")) }, `an entry with the name ".."`},
		"folder ..": {func(w *world) string { return w.treeOf("40000 ..", w.treeOf("100644 a", w.blob("x"))) }, `the name ".."`},
		".":         {func(w *world) string { return w.treeOf("100644 .", w.blob("x")) }, `an entry with the name "."`},
		".git":      {func(w *world) string { return w.treeOf("40000 .GIT", w.treeOf()) }, `an entry with the name ".GIT"`},
		"slash":     {func(w *world) string { return w.treeOf("100644 a/../../b", w.blob("x")) }, `the name "a/../../b"`},
		"two files": {func(w *world) string {
			return w.treeOf("100644 a", w.blob("x"), "100644 a", w.blob("y"))
		}, "two entries with the name a"},
		"file and folder": {func(w *world) string {
			return w.treeOf("100644 a", w.blob("x"), "40000 a", w.treeOf())
		}, "two entries with the name a"},
		"file through a symlink": {func(w *world) string {
			return w.treeOf("120000 a", w.blob("/tmp"), "40000 a", w.treeOf("100644 owned", w.blob("x")))
		}, "two entries with the name a"},
		"symlink and file": {func(w *world) string {
			return w.treeOf("120000 a", w.blob("b"), "100644 a", w.blob("x"))
		}, "two entries with the name a"},
		"file that is a tree": {func(w *world) string { return w.treeOf("100644 a", w.treeOf()) }, "file a is a tree"},
		"long symlink": {func(w *world) string {
			return w.treeOf("120000 a", w.blob(strings.Repeat("x", 4096)))
		}, "symlink a has a target of 4096 bytes"},
		"empty symlink": {func(w *world) string { return w.treeOf("120000 a", w.blob("")) }, "symlink a has a target of 0 bytes"},
		"deep folders": {func(w *world) string {
			tree := w.treeOf("100644 a", w.blob("x"))
			for range 101 {
				tree = w.treeOf("40000 d", tree)
			}
			return tree
		}, "more than 100 folders deep"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, gitserver.Options{})
			commit := w.point(test.tree(w))
			w.fail(w.request(mainBranch), "download commit "+commit, test.want)
			w.wantCached()

			// The same commit is not downloaded again to be rejected again.
			w.clock.advance(failureMemory)
			w.fail(w.request(mainBranch), test.want)
			w.wantCounts(2, 1)

			w.git("update-ref", "-d", "refs/heads/main")
			w.commit(map[string]string{"good.yaml": "good"})
			w.clock.advance(failureMemory)
			wantFiles(t, w.fetch(w.request(mainBranch)).FS, map[string]string{"good.yaml": "good"})
		})
	}
}

// exponential makes a tree of 10^levels files out of a few objects.
func (w *world) exponential(levels int) string {
	tree := w.treeOf("100644 a", w.blob("x"))
	for range levels {
		var entries []string
		for i := range 10 {
			entries = append(entries, fmt.Sprintf("40000 %d", i), tree)
		}
		tree = w.treeOf(entries...)
	}
	return tree
}

// sameContent and ownContent are the change of fast-import that adds file i.
func sameContent(i int) string { return fmt.Sprintf("M 100644 :1 d%d/f%d\n", i%100, i) }

func ownContent(i int) string {
	return fmt.Sprintf("M 100644 inline d%d/f%d\ndata %d\n%d\n", i%100, i, len(strconv.Itoa(i)), i)
}

// many makes main a commit with n files in 100 folders.
func (w *world) many(n int, add func(i int) string) {
	w.Helper()
	for _, setting := range []string{"core.compression", "pack.compression", "pack.window"} {
		w.git("config", setting, "0") // quick
	}
	var b bytes.Buffer
	b.WriteString("blob\nmark :1\ndata 1\nx\ncommit refs/heads/main\ncommitter a <a> 1 +0000\ndata 0\n")
	for i := range n {
		b.WriteString(add(i))
	}
	w.must(w.repo.FastImport(b.Bytes()))
}

// zeros stores a commit on main with a file of n zeros.
func (w *world) zeros(n int) {
	w.Helper()
	stream := io.MultiReader(
		strings.NewReader(fmt.Sprintf("commit refs/heads/main\ncommitter a <a> 1 +0000\ndata 0\nM 100644 inline big.bin\ndata %d\n", n)),
		io.LimitReader(zeroReader{}, int64(n)), strings.NewReader("\n"))
	cmd := exec.CommandContext(w.Context(), "git", "--git-dir", w.repo.Dir, "fast-import", "--quiet", "--force")
	cmd.Stdin = stream
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git fast-import: %v: %s", err, out)
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestWhatIsTooMuchIsRejectedInBoundedTimeAndMemory(t *testing.T) {
	const megabyte = 1 << 20
	for name, test := range map[string]struct {
		fill   func(w *world)
		change func(o *Options)
		want   string
	}{
		"a huge file": {
			fill: func(w *world) { w.zeros(110 * megabyte) },
			want: "a file holds 115343360 bytes, and the limit of one file is 104857600",
		},
		"a file larger than the artifact may be": {
			fill:   func(w *world) { w.zeros(2 * megabyte) },
			change: func(o *Options) { o.MaxArtifactSize = megabyte },
			want:   "a file holds 2097152 bytes, and the limit of one file is 1048576",
		},
		"many files together": {
			fill: func(w *world) {
				w.point(w.treeOf("100644 a", w.blob(strings.Repeat("a", megabyte)), "100644 b", w.blob(strings.Repeat("b", megabyte))))
			},
			change: func(o *Options) { o.MaxArtifactSize = 3 * megabyte / 2 },
			want:   "its files hold more than 1572864 bytes, the limit of one artifact (flag --max-artifact-size)",
		},
		"one content in many files": {
			fill: func(w *world) {
				same := w.blob(strings.Repeat("a", megabyte))
				w.point(w.treeOf("100644 a", same, "100644 b", same))
			},
			change: func(o *Options) { o.MaxArtifactSize = 3 * megabyte / 2 },
			want:   "its files hold more than 1572864 bytes",
		},
		"100,200 files": {
			fill: func(w *world) { w.many(100_200, ownContent) },
			want: "it has more than 100000 files and folders, the limit of one artifact",
		},
		"200,000 files of one content": {
			fill: func(w *world) { w.many(200_000, sameContent) },
			want: "it has more than 100000 files and folders",
		},
		"ten thousand million files of few objects": {
			fill: func(w *world) { w.point(w.exponential(10)) },
			want: "it has more than 100000 files and folders",
		},
	} {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*Options) {}
			}
			w := newWorld(t, gitserver.Options{}, change)
			test.fill(w)
			inBounds(t, func() { w.fail(w.request(mainBranch), test.want) })
			w.wantCached()
		})
	}
}

func TestAsManyFilesAsAllowedAreFetched(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.many(1_000, ownContent)
	w.fetcher.git.limits.entries = 1_100 // with 100 folders
	w.fetch(w.request(mainBranch)).Close()

	w.must(os.RemoveAll(w.options.CacheDir))
	w.restart()
	w.fetcher.git.limits.entries = 1_099
	w.fail(w.request(mainBranch), "more than 1099 files and folders")
}

// pack builds a pack out of objects, each with its type, the size that it claims, and its content.
func pack(count uint32, objects ...packed) []byte {
	var b bytes.Buffer
	b.WriteString("PACK")
	b.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 2), count))
	for _, o := range objects {
		size := o.claims
		head := byte(o.kind<<4) | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			b.WriteByte(head | 0x80)
			head = byte(size & 0x7f)
		}
		b.WriteByte(head)
		b.Write(o.base)
		z := zlib.NewWriter(&b)
		_, _ = z.Write(o.content)
		_ = z.Close()
	}
	sum := sha1.Sum(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

type packed struct {
	kind    int // 3 is a blob, 6 a delta to an object at an offset
	claims  uint64
	base    []byte
	content []byte
}

func blobOf(content string) packed {
	return packed{kind: 3, claims: uint64(len(content)), content: []byte(content)}
}

func TestAPackThatLiesIsRejected(t *testing.T) {
	bomb := binary.AppendUvarint(binary.AppendUvarint(nil, 1), 1<<40)
	delta := func(content []byte) packed {
		return packed{kind: 6, claims: uint64(len(content)), base: []byte{10}, content: content}
	}
	good := pack(1, blobOf("hello"))
	for name, test := range map[string]struct {
		pack []byte
		want string
	}{
		"good":                          {good, ""},
		"no pack":                       {[]byte("hello, this is no pack"), "read pack"},
		"empty":                         {nil, "read pack"},
		"half":                          {good[:len(good)/2], "read pack"},
		"changed":                       {append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), "checksum mismatch"},
		"more objects than allowed":     {pack(1 << 31), "more than 1000 files and folders"},
		"fewer objects than it says":    {pack(2, blobOf("hello")), "read pack"},
		"object larger than it says":    {pack(1, packed{kind: 3, claims: 4, content: []byte("hello")}), "read pack"},
		"object smaller than it says":   {pack(1, packed{kind: 3, claims: 6, content: []byte("hello")}), "read pack"},
		"object that claims too much":   {pack(1, packed{kind: 3, claims: 1 << 50}), "a file holds 1125899906842624 bytes"},
		"delta with a huge result":      {pack(2, blobOf("a"), delta(bomb)), "a file holds 1099511627776 bytes"},
		"delta without sizes":           {pack(2, blobOf("a"), delta([]byte{0x80})), "malformed delta"},
		"delta with a negative size":    {pack(2, blobOf("a"), delta(binary.AppendUvarint([]byte{1}, 1<<63))), "malformed delta"},
		"objects that are large in sum": {pack(2, blobOf(strings.Repeat("a", 1000)), blobOf(strings.Repeat("b", 1000))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := limits{artifact: 4000, file: 2000, entries: 1000}
			err := l.receive(bytes.NewReader(test.pack), io.Discard)
			if test.want == "" && err != nil {
				t.Error(err)
			}
			if test.want != "" {
				wantError(t, err, test.want)
			}
		})
	}
}

func TestAnEndlessPackIsCut(t *testing.T) {
	l := limits{artifact: 1 << 20, file: 1 << 20, entries: maxEntries}
	endless := io.MultiReader(bytes.NewReader(pack(100_000, blobOf("x"))[:12]), endlessBlobs{})
	err := l.receive(endless, io.Discard)
	if !isContentError(err) {
		t.Errorf("error %v, want one of the limit", err)
	}
}

// endlessBlobs is blob after blob of a megabyte.
type endlessBlobs struct{}

func (endlessBlobs) Read(p []byte) (int, error) {
	blob := pack(1, blobOf(strings.Repeat("a", 1<<20)))
	return copy(p, blob[12:len(blob)-20]), nil
}
