package main

import (
	"io/fs"
	"slices"
)

// gitDir is what Git keeps in the folder of a repository. No source has it.
const gitDir = ".git"

// workTree is a folder of this machine as the files of a source.
type workTree struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (t workTree) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.FS, name)
	return slices.DeleteFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() == gitDir }), err
}

// Lstat implements fs.ReadLinkFS.
func (t workTree) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(t.FS, name) }

// ReadLink implements fs.ReadLinkFS.
func (t workTree) ReadLink(name string) (string, error) { return fs.ReadLink(t.FS, name) }
