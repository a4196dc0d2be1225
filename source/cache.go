package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// The layout of the cache directory, where <key> is made by its user and has two elements:
//
//	artifacts/<key>/tree/…       the files of one revision
//	artifacts/<key>/entry.json   what they are, written last
//	tmp/…                        what is being written or deleted; emptied at start
//
// An entry is written under tmp and renamed, so that one that exists is whole as far as this process saw. What an earlier process
// left may have lost writes in a crash of the machine: its sum is checked before its first use.
const (
	entriesDir = "artifacts"
	tmpDir     = "tmp"
	treeDir    = "tree"
	entryFile  = "entry.json"
)

// cache keeps folders on disk, by key, up to a number of bytes. It gives up the least recently used ones that nobody reads. It is
// safe for concurrent use.
type cache struct {
	dir   string
	limit int64
	now   func() time.Time

	mu      sync.Mutex
	entries map[string]*entry
	claims  map[string]chan struct{} // keys that somebody writes or checks; closed at the end
	size    int64
}

// entry is one folder of the cache.
type entry struct {
	key     string
	summary summary
	used    time.Time
	readers int
	trusted bool // written or checked by this process
}

// lease is the right to read an entry, which stays until the lease is closed.
type lease struct {
	root  *os.Root
	close func()
}

// Close gives the entry back. It may be called on nil, and more than once.
func (l *lease) Close() {
	if l != nil {
		l.close()
	}
}

// openCache opens the cache in dir, forgets what was half written, and lists what is there.
func openCache(dir string, limit int64, now func() time.Time) (*cache, error) {
	c := &cache{dir: dir, limit: limit, now: now, entries: map[string]*entry{}, claims: map[string]chan struct{}{}}
	if err := os.RemoveAll(c.path(tmpDir)); err != nil {
		return nil, err
	}
	for _, sub := range []string{tmpDir, entriesDir} {
		if err := os.MkdirAll(c.path(sub), 0o700); err != nil {
			return nil, err
		}
	}
	dirs, err := filepath.Glob(c.path(entriesDir, "*", "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		e, err := readEntry(dir)
		if err != nil {
			if err := os.RemoveAll(dir); err != nil {
				return nil, err
			}
			continue
		}
		e.key = filepath.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir))
		c.entries[e.key] = e
		c.size += e.summary.Size
	}
	return c, c.trim()
}

// readEntry reads what an earlier process wrote about a folder.
func readEntry(dir string) (*entry, error) {
	file := filepath.Join(dir, entryFile)
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	e := &entry{used: info.ModTime()}
	return e, json.Unmarshal(content, &e.summary)
}

// acquire returns a lease on the entry, or nil if the cache does not have it or has not checked it yet.
func (c *cache) acquire(key string) *lease {
	c.mu.Lock()
	e := c.entries[key]
	if e == nil || !e.trusted {
		c.mu.Unlock()
		return nil
	}
	c.hold(e)
	c.mu.Unlock()

	root, err := os.OpenRoot(c.path(entriesDir, key, treeDir))
	if err != nil { // somebody emptied the directory: write the entry anew
		c.mu.Lock()
		c.forget(e)
		c.mu.Unlock()
		return nil
	}
	return &lease{root: root, close: sync.OnceFunc(func() {
		_ = root.Close() // opened for reading
		c.mu.Lock()
		e.readers--
		c.mu.Unlock()
		_ = c.trim() // an error leaves the cache too large until the next write, which reports it
	})}
}

// get returns a lease on the entry. If the cache does not have it, write fills an empty folder with its files, for all that wait
// for it.
func (c *cache) get(ctx context.Context, key string, write func(dir *os.Root) error) (*lease, error) {
	unclaim, err := c.claim(ctx, key)
	if err != nil {
		return nil, err
	}
	defer unclaim()
	c.check(key)
	if l := c.acquire(key); l != nil {
		return l, nil
	}
	if err := c.add(key, write); err != nil {
		return nil, err
	}
	l := c.acquire(key)
	if l == nil {
		return nil, fmt.Errorf("the entry %s of the source cache %s vanished", key, c.dir)
	}
	if err := c.trim(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// claim makes the caller the only one to write or check the entry, until it calls the function returned.
func (c *cache) claim(ctx context.Context, key string) (func(), error) {
	for {
		c.mu.Lock()
		other, taken := c.claims[key]
		if !taken {
			mine := make(chan struct{})
			c.claims[key] = mine
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.claims, key)
				c.mu.Unlock()
				close(mine)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// check compares an entry of an earlier process with its sum, and forgets it if they differ.
func (c *cache) check(key string) {
	c.mu.Lock()
	e := c.entries[key]
	if e == nil || e.trusted {
		c.mu.Unlock()
		return
	}
	e.readers++
	c.mu.Unlock()

	found, err := summarize(c.path(entriesDir, key, treeDir))

	c.mu.Lock()
	defer c.mu.Unlock()
	e.readers--
	if err != nil || found != e.summary {
		c.forget(e)
		return
	}
	e.trusted = true
}

// add writes a new entry. The caller has claimed the key, and the cache does not have it.
func (c *cache) add(key string, write func(dir *os.Root) error) (err error) {
	tmp, err := os.MkdirTemp(c.path(tmpDir), "new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	sum, err := writeEntry(tmp, write)
	if err != nil {
		return err
	}
	final := c.path(entriesDir, key)
	trash, err := c.moveAway(final) // an entry that check has refused
	defer func() { err = errors.Join(err, os.RemoveAll(trash)) }()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return err
	}
	if err := os.Rename(tmp, final); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[key] = &entry{key: key, summary: sum, used: c.now(), trusted: true}
	c.size += sum.Size
	return nil
}

// writeEntry fills dir with the folder of an entry.
func writeEntry(dir string, write func(dir *os.Root) error) (summary, error) {
	files := filepath.Join(dir, treeDir)
	if err := os.Mkdir(files, 0o700); err != nil {
		return summary{}, err
	}
	root, err := os.OpenRoot(files)
	if err != nil {
		return summary{}, err
	}
	defer func() { _ = root.Close() }()
	if err := write(root); err != nil {
		return summary{}, err
	}
	sum, err := summarize(files)
	if err != nil {
		return summary{}, err
	}
	content, err := json.Marshal(sum)
	if err != nil {
		return summary{}, err
	}
	return sum, os.WriteFile(filepath.Join(dir, entryFile), content, 0o600)
}

// trim deletes the least recently used entries without readers until the cache is in its limit.
func (c *cache) trim() error {
	c.mu.Lock()
	var idle []*entry
	for _, e := range c.entries {
		if _, claimed := c.claims[e.key]; e.readers == 0 && !claimed {
			idle = append(idle, e)
		}
	}
	slices.SortFunc(idle, func(a, b *entry) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.key, b.key)) })
	var trash []string
	var errs []error
	for _, e := range idle {
		if c.size <= c.limit {
			break
		}
		c.forget(e)
		dir, err := c.moveAway(c.path(entriesDir, e.key)) // under the lock, so that a new entry of that key is not hit
		trash, errs = append(trash, dir), append(errs, err)
	}
	c.mu.Unlock()

	for _, dir := range trash {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// hold counts a reader of the entry and remembers the use, also for the next process. The caller holds the lock.
func (c *cache) hold(e *entry) {
	e.readers++
	e.used = c.now()
	// Losing the time only means that another entry is evicted first after a restart.
	_ = os.Chtimes(c.path(entriesDir, e.key, entryFile), e.used, e.used)
}

// forget takes the entry off the list; its readers keep their open files. The caller holds the lock.
func (c *cache) forget(e *entry) {
	if c.entries[e.key] == e {
		delete(c.entries, e.key)
		c.size -= e.summary.Size
	}
}

// moveAway takes a folder out of the way at once and returns what to delete. A folder that is not there is no error.
func (c *cache) moveAway(dir string) (trash string, err error) {
	trash, err = os.MkdirTemp(c.path(tmpDir), "old-")
	if err != nil {
		return "", err
	}
	err = os.Rename(dir, filepath.Join(trash, "entry"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return trash, err
}

func (c *cache) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}
