package gitserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// DefaultBranch is the branch that HEAD of a new repository names, and that commits go to.
const DefaultBranch = "main"

// gitTimeout is how long one git command on a repository may take.
const gitTimeout = 5 * time.Minute

// Repository is a bare Git repository on disk.
type Repository struct {
	// Dir is its folder.
	Dir string
}

// Init makes an empty bare repository in dir, which it creates.
func Init(dir string) (*Repository, error) {
	r := &Repository{Dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	_, err := r.Git("init", "--quiet", "--bare", "--initial-branch", DefaultBranch)
	return r, err
}

// Commit adds a commit to the default branch that writes these files, by path, and leaves the others. It returns the hash.
func (r *Repository) Commit(message string, files map[string]string) (string, error) {
	var changes bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(files)) {
		writeFile(&changes, path, []byte(files[path]))
	}
	return r.commit(message, changes.Bytes())
}

// Remove adds a commit to the default branch without these files or folders. It returns the hash.
func (r *Repository) Remove(message string, paths ...string) (string, error) {
	var changes bytes.Buffer
	for _, path := range paths {
		fmt.Fprintf(&changes, "D %s\n", quote(path))
	}
	return r.commit(message, changes.Bytes())
}

// CommitDir adds a commit to the default branch with exactly the regular files of a folder and its subfolders. It returns the hash.
func (r *Repository) CommitDir(message, dir string) (string, error) {
	changes := bytes.NewBufferString("deleteall\n")
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		path, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		writeFile(changes, filepath.ToSlash(path), content)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("commit folder %s: %w", dir, err)
	}
	return r.commit(message, changes.Bytes())
}

// commit feeds git fast-import, which needs no working copy.
func (r *Repository) commit(message string, changes []byte) (string, error) {
	var stream bytes.Buffer
	branch := "refs/heads/" + DefaultBranch
	fmt.Fprintf(&stream, "commit %s\ncommitter convoy <convoy@example.com> %d +0000\ndata %d\n%s\n",
		branch, time.Now().Unix(), len(message), message)
	if _, err := r.Git("rev-parse", "--verify", "--quiet", branch); err == nil {
		fmt.Fprintf(&stream, "from %s^0\n", branch)
	}
	stream.Write(changes)
	if err := r.FastImport(stream.Bytes()); err != nil {
		return "", err
	}
	return r.Git("rev-parse", branch)
}

// FastImport runs a stream of git fast-import, which can make whatever Git can store.
func (r *Repository) FastImport(stream []byte) error {
	_, err := r.run(stream, "fast-import", "--quiet", "--force")
	return err
}

// Git runs git on the repository and returns what it prints, without white space around it.
func (r *Repository) Git(args ...string) (string, error) {
	return r.run(nil, args...)
}

// run keeps the configuration and the identity of the machine out.
func (r *Repository) run(stdin []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"--git-dir", r.Dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=convoy", "GIT_AUTHOR_EMAIL=convoy@example.com",
		"GIT_COMMITTER_NAME=convoy", "GIT_COMMITTER_EMAIL=convoy@example.com")
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git %s in %s: %w: %s", args[0], r.Dir, err, bytes.TrimSpace(exit.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}

func writeFile(w *bytes.Buffer, path string, content []byte) {
	fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", quote(path), len(content), content)
}

// quote makes a path safe for fast-import.
func quote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}
