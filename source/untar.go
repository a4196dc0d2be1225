package source

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
)

// tarGzip writes the files of a tar.gz archive. It reads to the very end, where the checksum is.
func (u *unpacking) tarGzip(archive *bufio.Reader) error {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return unreadable(u.ctx, err)
	}
	stream := &limitedReader{reader: unzipped, left: u.limits.stream(), err: u.limits.errArtifact()}
	entries := tar.NewReader(stream)
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return u.end(stream)
		}
		if err != nil {
			return unreadable(u.ctx, err)
		}
		if err := u.tarEntry(header, entries); err != nil {
			return err
		}
	}
}

// tarEntry writes one entry.
func (u *unpacking) tarEntry(header *tar.Header, content io.Reader) error {
	if err := u.next(); err != nil {
		return err
	}
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil // what git archive says about the commit
	}
	name, err := u.path(header.Name)
	if err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return u.folder(name)
	case tar.TypeReg:
		return u.file(name, header.Size, content)
	case tar.TypeSymlink:
		return u.symlink(name, header.Linkname)
	case tar.TypeLink:
		return rejectf("entry %.100q is a hard link: an archive may have files, folders and symlinks", name)
	default:
		return rejectf("entry %.100q is of the type %q: an archive may have files, folders and symlinks", name, header.Typeflag)
	}
}

// end reads the padding behind the last entry.
func (u *unpacking) end(stream io.Reader) error {
	var block [32 << 10]byte
	for {
		n, err := stream.Read(block[:])
		for _, b := range block[:n] {
			if b != 0 {
				return errGarbage()
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, gzip.ErrHeader), errors.Is(err, io.ErrUnexpectedEOF):
			return errGarbage()
		case err != nil:
			return unreadable(u.ctx, err)
		}
	}
}

func errGarbage() error { return rejectf("the archive is truncated, or something follows its end") }
