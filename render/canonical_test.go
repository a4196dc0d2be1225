package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func configMap(namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

func TestDecodeReturnsWhatNewMade(t *testing.T) {
	made, err := New([]*unstructured.Unstructured{configMap("b", "x"), configMap("a", "x")})
	if err != nil {
		t.Fatal(err)
	}
	read, err := Decode(made.Ref(), made.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(made.Bytes()), string(read.Bytes())); diff != "" {
		t.Error(diff)
	}
	if read.Ref() != made.Ref() || read.Len() != 2 {
		t.Errorf("decoded %s with %d objects, want %s with 2", read.Ref(), read.Len(), made.Ref())
	}
}
