package source

import (
	"os"
	"path"
	"strings"
)

// folders opens the folders of a tree one step at a time, and keeps those open that lead to the last one: entries that follow each
// other tend to be neighbours.
type folders struct {
	root *os.Root
	open []opened
}

type opened struct {
	name string
	root *os.Root
}

// of opens the folder that a file is in. All folders on the way must be there, and be no symlinks.
func (f *folders) of(name string) (*os.Root, error) {
	var steps []string
	if parent := path.Dir(name); parent != "." {
		steps = strings.Split(parent, "/")
	}
	same := 0
	for same < len(f.open) && same < len(steps) && f.open[same].name == steps[same] {
		same++
	}
	f.keep(same)
	for _, step := range steps[same:] {
		root, err := f.last().OpenRoot(step)
		if err != nil {
			return nil, err
		}
		f.open = append(f.open, opened{step, root})
	}
	return f.last(), nil
}

func (f *folders) last() *os.Root {
	if len(f.open) == 0 {
		return f.root
	}
	return f.open[len(f.open)-1].root
}

// keep closes all but the first n.
func (f *folders) keep(n int) {
	for _, o := range f.open[n:] {
		_ = o.root.Close() // opened for reading
	}
	f.open = f.open[:n]
}

// close closes all but the root. It may be called on nil.
func (f *folders) close() {
	if f != nil {
		f.keep(0)
	}
}
