package source

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
)

func fromRequest(kind v1alpha1.FromKind, name string) Request {
	return Request{Namespace: namespace, Source: v1alpha1.Source{From: &v1alpha1.FromSource{Kind: kind, Name: name}}}
}

func configMap(name string, data map[string]string, binary map[string][]byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data, BinaryData: binary}
}

func TestTheKeysOfAConfigMapOrSecretAreFiles(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.cluster.set(
		configMap("app", map[string]string{"a.yaml": "a: 1\n"}, map[string][]byte{"b.yaml": []byte("b: 1\n")}),
		secret("app", map[string]string{"s.yaml": "s: 1\n"}),
		configMap("empty", nil, nil),
	)
	for _, test := range []struct {
		req     Request
		summary string
		files   map[string]string
	}{
		{fromRequest(v1alpha1.FromConfigMap, "app"), "ConfigMap/app@sha256:", map[string]string{"a.yaml": "a: 1\n", "b.yaml": "b: 1\n"}},
		{fromRequest(v1alpha1.FromSecret, "app"), "Secret/app@sha256:", map[string]string{"s.yaml": "s: 1\n"}},
		{fromRequest(v1alpha1.FromConfigMap, "empty"), "ConfigMap/empty@sha256:", map[string]string{}},
	} {
		t.Run(test.summary, func(t *testing.T) {
			a := w.fetch(test.req)
			if !strings.HasPrefix(a.Summary(), test.summary) || len(a.Summary()) != len(test.summary)+64 {
				t.Errorf("summary %s", a.Summary())
			}
			wantFiles(t, a.FS, test.files)
			a.Close()
			a.Close()
		})
	}
	if err := fstest.TestFS(w.fetch(fromRequest(v1alpha1.FromConfigMap, "app")).FS, "a.yaml", "b.yaml"); err != nil {
		t.Error(err)
	}
}

func TestTheRevisionIsTheContent(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	revision := func(data map[string]string, binary map[string][]byte) string {
		w.cluster.set(configMap("app", data, binary))
		return w.fetch(fromRequest(v1alpha1.FromConfigMap, "app")).Revision
	}
	base := revision(map[string]string{"a": "1", "b": "2"}, nil)
	// The SHA-256 of {"a":"MQ==","b":"Mg=="}: it must not change, since it is in the history of Releases.
	if want := "sha256:b8b6d9c85cc37db860f808ab6251044ae69d6f674f59bf645e0c09c1c315898d"; base != want {
		t.Errorf("revision %s, want %s", base, want)
	}
	if got := revision(map[string]string{"b": "2"}, map[string][]byte{"a": []byte("1")}); got != base {
		t.Error("the same files have another revision")
	}
	for name, data := range map[string]map[string]string{
		"changed value": {"a": "1", "b": "3"},
		"changed name":  {"a": "1", "c": "2"},
		"one more file": {"a": "1", "b": "2", "c": ""},
		"one file less": {"a": "1"},
		"moved border":  {"a": "1b", "2": ""},
		"nothing":       nil,
	} {
		if revision(data, nil) == base {
			t.Errorf("%s: the revision is the same", name)
		}
	}
}

func TestAnObjectThatChangesGivesANewRevisionAndLeavesTheOldArtifact(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.cluster.set(configMap("app", map[string]string{"a.yaml": "a: 1\n"}, nil))
	old := w.fetch(fromRequest(v1alpha1.FromConfigMap, "app"))
	w.cluster.set(configMap("app", map[string]string{"a.yaml": "a: 2\n"}, nil))
	if a := w.fetch(fromRequest(v1alpha1.FromConfigMap, "app")); a.Revision == old.Revision {
		t.Error("the revision is the same")
	}
	wantFiles(t, old.FS, map[string]string{"a.yaml": "a: 1\n"})
}

func TestAnObjectThatCannotBeReadIsNamed(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.cluster.set(secret("app", nil))
	w.fail(fromRequest(v1alpha1.FromConfigMap, "app"), "fetch ConfigMap/app: ConfigMap team/app does not exist")
	w.fail(fromRequest(v1alpha1.FromSecret, "none"), "fetch Secret/none: Secret team/none does not exist")
	other := fromRequest(v1alpha1.FromSecret, "app")
	other.Namespace = "other"
	w.fail(other, "Secret other/app does not exist")
	w.fail(fromRequest("Pod", "app"), `kind "Pod" is neither ConfigMap nor Secret`)
	w.fail(Request{}, "none of git, oci, archive and from is set")

	w.cluster.err = errors.New("forbidden")
	w.fail(fromRequest(v1alpha1.FromConfigMap, "app"), "read ConfigMap team/app: forbidden")
}

func TestStaticAnswersWithWhatWasSetLast(t *testing.T) {
	files := func(content string) fstest.MapFS { return fstest.MapFS{"a.yaml": {Data: []byte(content)}} }
	s := NewStatic("r1", files("1"))
	want := func(summary, content string) {
		t.Helper()
		a, err := s.Fetch(t.Context(), gitRequest("https://example.com/app.git", mainBranch, ""))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if a.Summary() != summary {
			t.Errorf("summary %s, want %s", a.Summary(), summary)
		}
		wantFiles(t, a.FS, map[string]string{"a.yaml": content})
	}
	want("https://example.com/app.git@r1", "1")
	s.Set("r2", files("2"))
	want("https://example.com/app.git@r2", "2")
	s.Fail(errors.New("down"))
	if _, err := s.Fetch(t.Context(), Request{}); err == nil || err.Error() != "down" {
		t.Errorf("error %v", err)
	}
	s.Fail(nil)
	want("https://example.com/app.git@r2", "2")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Fetch(ctx, Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
