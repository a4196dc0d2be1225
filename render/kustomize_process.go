package render

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomizeBuild builds a kustomization. It reads the source through the process that started it, which checks each file before kustomize
// acts on it: it gets the folder, and then an answer to each question, and it asks until it is done, in gob.
var kustomizeBuild = isolated{name: "kustomize", time: 2 * time.Minute, memory: maxProcessMemory, serve: serveKustomize}

// kustomizeQuestion is what kustomize asks: where a path leads, or what a file holds; or what it has made.
type kustomizeQuestion struct {
	Path string
	Read bool
	Made *kustomizeAnswer // nil while it asks
}

// kustomizeReply is the answer to a question.
type kustomizeReply struct {
	Dir, File string // of where a path leads
	Content   []byte
	Absent    bool // there is no such file
	Error     string
}

// kustomizeAnswer is what kustomize made.
type kustomizeAnswer struct {
	Objects [][]byte // in JSON
	Error   string
	Exceeds bool // it made more than maxOutput
}

func serveKustomize(in io.Reader, out io.Writer) error {
	source := &askedFiles{questions: gob.NewEncoder(out), replies: gob.NewDecoder(in)}
	var dir string
	if err := source.replies.Decode(&dir); err != nil {
		return err
	}
	var made kustomizeAnswer
	objects, err := runKustomize(source, dir)
	switch {
	case errors.Is(err, errOutput):
		made.Exceeds = true
	case err != nil:
		made.Error = err.Error()
	default:
		made.Objects = objects
	}
	return source.questions.Encode(kustomizeQuestion{Made: &made})
}

// runKustomize runs kustomize as its command line does by default: no plugins, no Helm, files only in or below the folder of the
// kustomization that names them. The process has kustomize's variables for itself.
func runKustomize(source filesys.FileSystem, dir string) (objects [][]byte, err error) {
	defer func() {
		// kustomize panics on some schemas and patches that it cannot read.
		if problem := recover(); problem != nil {
			err = fmt.Errorf("kustomize cannot build it: %v", problem)
		}
	}()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(source, path.Join("/", dir))
	if err != nil {
		return nil, err
	}
	size := 0
	for _, res := range resources.Resources() {
		object, err := res.MarshalJSON()
		if err != nil {
			_, problem := yamlProblem(err) // the line is not one of a file
			return nil, fmt.Errorf("encode %s %s: %s", res.GetKind(), res.GetName(), problem)
		}
		if size += len(object); size > maxOutput {
			return nil, errOutput
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// kustomize builds the kustomization in dir. It returns its objects in JSON.
func kustomize(ctx context.Context, t *tree, dir string) ([][]byte, error) {
	files := newKustomizeFiles(ctx, t)
	var made kustomizeAnswer
	err := kustomizeBuild.run(ctx, func(cmd *exec.Cmd) (err error) {
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		made, err = files.answer(in, out, dir)
		if ended := cmd.Wait(); ended != nil {
			return ended
		}
		return err
	})
	switch {
	case files.refusal != nil:
		return nil, files.refusal
	case err != nil:
		return nil, fmt.Errorf("%s: %w", kustomizationIn(dir), err)
	case made.Exceeds:
		return nil, fmt.Errorf("%s: %w", kustomizationIn(dir), errOutput)
	case made.Error != "":
		return nil, fmt.Errorf("%s: %s", kustomizationIn(dir), files.redactor.redact(made.Error))
	}
	return made.Objects, nil
}

// answer answers kustomize until it is done.
func (f *kustomizeFiles) answer(in io.Writer, out io.Reader, dir string) (kustomizeAnswer, error) {
	replies, questions := gob.NewEncoder(in), gob.NewDecoder(out)
	if err := replies.Encode(dir); err != nil {
		return kustomizeAnswer{}, err
	}
	for {
		var question kustomizeQuestion
		if err := questions.Decode(&question); err != nil {
			return kustomizeAnswer{}, err
		}
		if question.Made != nil {
			return *question.Made, nil
		}
		if err := replies.Encode(f.reply(question)); err != nil {
			return kustomizeAnswer{}, err
		}
	}
}

func (f *kustomizeFiles) reply(question kustomizeQuestion) (reply kustomizeReply) {
	var err error
	if question.Read {
		reply.Content, err = f.read(question.Path)
	} else {
		reply.Dir, reply.File, err = f.locate(question.Path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		reply.Absent = true
	case err != nil:
		reply.Error = err.Error()
	}
	return reply
}

// askedFiles are the files of the source as kustomize sees them: / is its root, and nothing can be written.
type askedFiles struct {
	readOnly
	mu        sync.Mutex
	questions *gob.Encoder
	replies   *gob.Decoder
}

func (f *askedFiles) ask(question kustomizeQuestion) (reply kustomizeReply, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.questions.Encode(question); err != nil {
		return reply, err
	}
	if err := f.replies.Decode(&reply); err != nil {
		return reply, err
	}
	switch {
	case reply.Absent:
		return reply, fmt.Errorf("%s: %w", question.Path, fs.ErrNotExist)
	case reply.Error != "":
		return reply, errors.New(reply.Error)
	}
	return reply, nil
}

// Exists implements filesys.FileSystem.
func (f *askedFiles) Exists(name string) bool {
	_, err := f.ask(kustomizeQuestion{Path: name})
	return err == nil
}

// IsDir implements filesys.FileSystem.
func (f *askedFiles) IsDir(name string) bool {
	reply, err := f.ask(kustomizeQuestion{Path: name})
	return err == nil && reply.File == ""
}

// CleanedAbs implements filesys.FileSystem.
func (f *askedFiles) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	reply, err := f.ask(kustomizeQuestion{Path: name})
	return filesys.ConfirmedDir(path.Join("/", reply.Dir)), reply.File, err
}

// ReadFile implements filesys.FileSystem.
func (f *askedFiles) ReadFile(name string) ([]byte, error) {
	reply, err := f.ask(kustomizeQuestion{Path: name, Read: true})
	return reply.Content, err
}

// readOnly fails for what kustomize does not need to build.
type readOnly struct{}

var errReadOnly = fmt.Errorf("the source cannot be used like this: %w", errors.ErrUnsupported)

func (readOnly) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (readOnly) Mkdir(string) error                   { return errReadOnly }
func (readOnly) MkdirAll(string) error                { return errReadOnly }
func (readOnly) RemoveAll(string) error               { return errReadOnly }
func (readOnly) Open(string) (filesys.File, error)    { return nil, errReadOnly }
func (readOnly) ReadDir(string) ([]string, error)     { return nil, errReadOnly }
func (readOnly) Glob(string) ([]string, error)        { return nil, errReadOnly }
func (readOnly) WriteFile(string, []byte) error       { return errReadOnly }
func (readOnly) Walk(string, filepath.WalkFunc) error { return errReadOnly }
