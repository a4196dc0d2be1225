package source

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
)

const (
	// maxZipListing is how many bytes the list of the files of a zip archive may have. It is held in memory.
	maxZipListing = 16 << 20

	zipEncrypted = 1 // a bit of the flags of an entry
	zipEndLength = 22
)

// zip writes the files of a zip archive.
func (u *unpacking) zip(archive *os.File, size int64) error {
	content := &zipFile{ctx: u.ctx, file: archive, left: maxZipListing, err: rejectf("its list of files has more than %d bytes", maxZipListing)}
	reader, err := zip.NewReader(content, size)
	if err != nil {
		return unreadable(u.ctx, err)
	}
	content.left, content.err = u.limits.pack(), u.limits.errArtifact()
	var end [4]byte
	if _, err := archive.ReadAt(end[:], size-zipEndLength-int64(len(reader.Comment))); err != nil || !bytes.Equal(end[:], magicEmptyZip) {
		return errGarbage()
	}
	if len(reader.File) > u.limits.entries {
		return u.limits.errEntries()
	}
	for _, f := range reader.File {
		if err := u.zipEntry(f); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacking) zipEntry(f *zip.File) error {
	if err := u.next(); err != nil {
		return err
	}
	name, err := u.path(f.Name)
	switch mode := f.Mode(); {
	case err != nil:
		return err
	case f.Flags&zipEncrypted != 0:
		return rejectf("entry %.100q is encrypted", name)
	case mode.IsDir():
		return u.folder(name)
	case !mode.IsRegular() && mode.Type() != fs.ModeSymlink:
		return rejectf("entry %.100q is a %s: an archive may have files, folders and symlinks", name, mode.Type())
	}
	if f.Mode().IsRegular() && u.into == nil {
		return u.file(name, int64(f.UncompressedSize64), nil)
	}
	content, err := f.Open()
	if err != nil {
		return unreadable(u.ctx, err)
	}
	defer func() { _ = content.Close() }()
	if f.Mode().IsRegular() {
		return u.file(name, int64(f.UncompressedSize64), content)
	}
	target, err := io.ReadAll(io.LimitReader(content, maxPathLength))
	if err != nil {
		return unreadable(u.ctx, err)
	}
	return u.symlink(name, string(target))
}

// zipFile is a file of which no more than left bytes can be read, and none after the end of the context.
type zipFile struct {
	ctx  context.Context
	file *os.File
	left int64
	err  error
}

// ReadAt implements io.ReaderAt.
func (z *zipFile) ReadAt(p []byte, offset int64) (int, error) {
	if z.ctx.Err() != nil {
		return 0, context.Cause(z.ctx)
	}
	n, err := z.file.ReadAt(p, offset)
	if z.left -= int64(n); z.left < 0 {
		return 0, z.err
	}
	return n, err
}
