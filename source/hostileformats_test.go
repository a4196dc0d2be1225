package source

import (
	"archive/tar"
	"fmt"
	"net/http"
	"testing"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// archiveSources are all sources whose files come in an archive. Each serves the content and returns the request for it.
var archiveSources = map[string]func(t *testing.T, content []byte) (*world, Request){
	"an archive": func(t *testing.T, content []byte) (*world, Request) {
		return newWorldWithoutGit(t), archiveRequest(serveFile(t, content, nil).URL+"/app.tgz", "", "")
	},
	"an archive with a digest": func(t *testing.T, content []byte) (*world, Request) {
		return newWorldWithoutGit(t), archiveRequest(serveFile(t, content, nil).URL+"/app.tgz", sumOf(content), "")
	},
	"a chart of a repository": func(t *testing.T, content []byte) (*world, Request) {
		s := serveCharts(t, nil)
		s.set("/app.tgz", content)
		s.set("/index.yaml", []byte("entries: {app: [{version: 1.0.0, urls: [app.tgz]}]}"))
		return newWorldWithoutGit(t), helmRequest(s.URL, "", "")
	},
	"an OCI artifact": func(t *testing.T, content []byte) (*world, Request) {
		w, s, _ := newOCIWorld(t)
		s.push([]layer{{fluxLayer, content}}, "v1")
		return w, ociRequest(s.url(), v1alpha1.OCIRef{Tag: "v1"}, "ca")
	},
	"an artifact of Flux": func(t *testing.T, content []byte) (*world, Request) {
		w := newWorldWithoutGit(t)
		server := serveFile(t, content, nil)
		w.cluster.set(withArtifact(v1alpha1.FromGitRepository, server.URL+"/a.tar.gz", "1", content))
		return w, fromRequest(v1alpha1.FromGitRepository, "app")
	},
}

func TestWhatIsHostileIsRefusedWhereverAnArchiveComesFrom(t *testing.T) {
	var many []tar.Header
	for i := range 200_000 {
		many = append(many, regular(fmt.Sprintf("f%d", i), ""))
	}
	for name, hostile := range map[string]struct {
		content []byte
		want    string
	}{
		"a symlink up":    {tarOf(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "../evil"}), `symlink "a" leads out of the archive`},
		"..":              {tarOf(t, regular("a/../../evil", "x")), "no clean relative path"},
		"an absolute":     {tarOf(t, regular("/etc/evil", "x")), "no clean relative path"},
		"a 10 GiB file":   {bomb(t, tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 10 << 30}, 64<<20), "file a holds 10737418240 bytes"},
		"200,000 entries": {tarOf(t, many...), "more than 100000 files and folders"},
	} {
		for from, serve := range archiveSources {
			t.Run(name+" in "+from, func(t *testing.T) {
				w, req := serve(t, hostile.content)
				inBounds(t, func() { w.fail(req, hostile.want) })
				w.wantCached()
				w.wantNoLeftovers()
			})
		}
	}
}

func TestAnIndexOfChartsThatExplodesIsRefused(t *testing.T) {
	index := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 20 {
		index += fmt.Sprintf("a%[2]d: &a%[2]d [*a%[1]d, *a%[1]d, *a%[1]d, *a%[1]d, *a%[1]d, *a%[1]d, *a%[1]d, *a%[1]d, *a%[1]d, *a%[1]d]\n", i, i+1)
	}
	w := newWorldWithoutGit(t)
	for name, content := range map[string]string{"in the index": index + "entries: {app: [{version: 1.0.0, urls: [app.tgz]}]}\n", "in the entries": index + "entries: {app: *a20}\n"} {
		s := serveCharts(t, nil)
		s.set("/index.yaml", []byte(content))
		inBounds(t, func() {
			w.fail(helmRequest(s.URL, "", ""), "index of the repository: it is not the index of a chart repository")
		})
		if asked := s.asked(); len(asked) != 1 {
			t.Errorf("%s: asked for %q", name, asked)
		}
	}
}

// An answer without an end is cut at what an archive may have.
func TestAnEndlessAnswerIsCutWhereverAnArchiveComesFrom(t *testing.T) {
	w := newWorldWithoutGit(t, func(o *Options) { o.MaxArtifactSize = 1 << 20 })
	endless := startServer(t, func(rw http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := rw.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}, nil)
	inBounds(t, func() {
		w.fail(archiveRequest(endless.URL+"/app.tgz", "", ""), "its files hold more than 1048576 bytes")
		w.fail(helmRequest(endless.URL+"/charts", "", ""), "index of the repository: its files hold more than 1048576 bytes")
	})
}
