package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

const (
	// maxNameLength is how many bytes the name of a file may have, as in the Linux kernel.
	maxNameLength = 255

	// entryAllowance is how many bytes an archive may hold beside the contents of its files, for each file.
	entryAllowance = 2 << 10
)

var (
	magicGzip     = []byte{0x1f, 0x8b}
	magicZip      = []byte("PK\x03\x04")
	magicEmptyZip = []byte("PK\x05\x06")
)

// unpack writes the files of a tar.gz or zip archive into an empty folder. Every error of the archive is a contentError. It looks at
// the whole archive first, and writes only one of bounded size.
func (l limits) unpack(ctx context.Context, archive *os.File, size int64, dir *os.Root) error {
	for _, into := range []*folders{nil, {root: dir}} {
		u := &unpacking{ctx: ctx, limits: l, into: into, seen: map[string]bool{".": true}}
		err := u.run(archive, size)
		into.close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacking) run(archive *os.File, size int64) error {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	content := bufio.NewReader(contextFile{u.ctx, archive})
	magic, err := content.Peek(len(magicZip))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(magic, magicGzip):
		return u.tarGzip(content)
	case bytes.Equal(magic, magicZip), bytes.Equal(magic, magicEmptyZip):
		return u.zip(archive, size)
	default:
		return rejectf("it is neither a tar.gz nor a zip archive")
	}
}

// stream is how many bytes an archive may have when it is decompressed.
func (l limits) stream() int64 { return l.artifact + int64(l.entries)*entryAllowance }

// unpacking writes the entries of an archive into a folder. It never follows a symlink, and never writes a name twice.
type unpacking struct {
	ctx    context.Context
	limits limits
	into   *folders // nil to look only

	seen  map[string]bool // names seen so far → it is a folder
	count int             // entries seen so far, and folders that none of them named
	names int             // bytes of their names
	bytes int64           // bytes of the files seen so far
}

// next counts an entry of the archive.
func (u *unpacking) next() error {
	if u.ctx.Err() != nil {
		return context.Cause(u.ctx)
	}
	if u.count++; u.count > u.limits.entries {
		return u.limits.errEntries()
	}
	return nil
}

// path checks the name of an entry, and makes a clean path of it.
func (u *unpacking) path(name string) (string, error) {
	if strings.ContainsAny(name, "\\\x00") {
		return "", rejectf("an entry has the name %.100q, which has a backslash or NUL in it", name)
	}
	trimmed := strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	if trimmed == "" && name != "" && name != "/" {
		trimmed = "."
	}
	if len(name) >= maxPathLength || !fs.ValidPath(trimmed) {
		return "", rejectf("an entry has the name %.100q, which is no clean relative path", name)
	}
	if u.names += len(name); u.names > listingAllowance {
		return "", rejectf("the names of its files have more than %d bytes", listingAllowance)
	}
	elements := strings.Split(trimmed, "/")
	if len(elements) > maxDepth+1 {
		return "", rejectf("entry %.100q is more than %d folders deep", name, maxDepth)
	}
	for _, element := range elements {
		if len(element) > maxNameLength {
			return "", rejectf("an entry has a name of %d bytes, and %d are possible: %.100q", len(element), maxNameLength, element)
		}
	}
	return trimmed, nil
}

// folder makes a folder and those above it. A folder may be named more than once.
func (u *unpacking) folder(name string) error {
	isFolder, ok := u.seen[name]
	switch {
	case ok && isFolder:
		return nil
	case ok:
		return rejectf("%.100q is both a file and a folder", name)
	}
	if err := u.parent(name); err != nil {
		return err
	}
	u.seen[name] = true
	dir, err := u.folderOf(name)
	if dir == nil || err != nil {
		return err
	}
	return dir.Mkdir(path.Base(name), 0o700)
}

// parent makes the folder that a name is in, which an archive need not list.
func (u *unpacking) parent(name string) error {
	parent := path.Dir(name)
	if _, ok := u.seen[parent]; !ok {
		if err := u.next(); err != nil {
			return err
		}
	}
	return u.folder(parent)
}

// folderOf opens the folder that a name is written into; nil if nothing is written.
func (u *unpacking) folderOf(name string) (*os.Root, error) {
	if u.into == nil {
		return nil, nil
	}
	return u.into.of(name)
}

// claim takes the name of a file or symlink.
func (u *unpacking) claim(name string) error {
	if err := u.parent(name); err != nil {
		return err
	}
	if _, ok := u.seen[name]; ok {
		return rejectf("there are two entries with the name %.100q", name)
	}
	u.seen[name] = false
	return nil
}

// file writes a file that is said to have size bytes.
func (u *unpacking) file(name string, size int64, content io.Reader) error {
	if size < 0 || size > u.limits.file {
		return u.limits.errFile("file "+cut(name), size)
	}
	if u.bytes += size; u.bytes > u.limits.artifact {
		return u.limits.errArtifact()
	}
	if err := u.claim(name); err != nil {
		return err
	}
	dir, err := u.folderOf(name)
	if dir == nil || err != nil {
		return err
	}
	f, err := dir.OpenFile(path.Base(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	written, err := io.Copy(f, io.LimitReader(content, size+1))
	if err == nil && written != size {
		err = rejectf("file %.100q does not have the %d bytes that the archive says", name, size)
	}
	return errors.Join(unreadable(u.ctx, err), f.Close())
}

// symlink makes a symlink that leads to another place of the archive.
func (u *unpacking) symlink(name, target string) error {
	switch {
	case target == "" || len(target) >= maxPathLength || strings.Contains(target, "\x00"):
		return rejectf("symlink %.100q has a target that no symlink can have", name)
	case path.IsAbs(target), !fs.ValidPath(path.Join(path.Dir(name), target)):
		return rejectf("symlink %.100q leads out of the archive", name)
	}
	if err := u.claim(name); err != nil {
		return err
	}
	dir, err := u.folderOf(name)
	if dir == nil || err != nil {
		return err
	}
	return dir.Symlink(target, path.Base(name))
}

// unreadable is the error of reading an archive, which is one of its content unless the file or the time is to blame.
func unreadable(ctx context.Context, err error) error {
	_, ofDisk := errors.AsType[*fs.PathError](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case ofDisk, isContentError(err):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return rejectf("the archive is truncated")
	default:
		return rejectf("the archive is damaged: %v", err)
	}
}

// cut is a name that fits into a message.
func cut(name string) string {
	if len(name) > 100 {
		return name[:100]
	}
	return name
}
