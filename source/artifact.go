package source

import (
	"io/fs"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Artifact is the files of a source at one revision. It is immutable, and must be closed.
type Artifact struct {
	// Revision names the content. Of a Git repository it is <branch or tag>@sha1:<40 hex digits>, or sha1:<40 hex digits> where the
	// source names a commit; of an OCI artifact <tag>@sha256:<64 hex digits>, or sha256:<64 hex digits> where the source names a digest;
	// of an archive, a ConfigMap or a Secret sha256:<64 hex digits>; of an object of Flux what its artifact says.
	Revision string

	// Origin is the URL of the repository or archive, without credentials, or <kind>/<name>.
	Origin string

	// FS holds all files of the source. Reading never leaves it: a symlink that does is an error that says so. It may be read from
	// several goroutines until the artifact is closed.
	FS fs.FS

	release func()
}

// Summary is Origin, "@" and Revision.
func (a *Artifact) Summary() string { return a.Origin + "@" + a.Revision }

// Close gives the cached files back; FS must not be read after it. It may be called more than once.
func (a *Artifact) Close() {
	if a.release != nil {
		a.release()
	}
}

// OriginOf is the Artifact.Origin of a source whose URL holds no credentials.
func OriginOf(src v1alpha1.Source) string {
	switch {
	case src.Git != nil:
		return src.Git.URL
	case src.OCI != nil:
		return src.OCI.URL
	case src.Helm != nil:
		return helmOrigin(src.Helm)
	case src.Archive != nil:
		return src.Archive.URL
	case src.From != nil:
		return string(src.From.Kind) + "/" + src.From.Name
	default:
		return ""
	}
}
