package source

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

func substituteFrom(refs ...v1alpha1.ValuesReference) v1alpha1.Mutation {
	return v1alpha1.Mutation{Substitute: &v1alpha1.SubstituteMutation{From: refs}}
}

func TestVariablesOfAMutationAreThoseOfItsReferences(t *testing.T) {
	c := &cluster{objects: []client.Object{
		configMap("first", map[string]string{"a": "1", "b": "1"}, nil), secret("second", map[string]string{"b": "2"}),
	}}
	got, err := Variables(t.Context(), c, namespace, []v1alpha1.Mutation{
		{Namespace: "n"},
		substituteFrom(
			v1alpha1.ValuesReference{Kind: v1alpha1.FromConfigMap, Name: "first"},
			v1alpha1.ValuesReference{Kind: v1alpha1.FromSecret, Name: "second"},
			v1alpha1.ValuesReference{Kind: v1alpha1.FromSecret, Name: "third", Optional: true},
		),
		substituteFrom(v1alpha1.ValuesReference{Kind: v1alpha1.FromConfigMap, Name: "first"}),
	})
	want := map[int]map[string]string{1: {"a": "1", "b": "2"}, 2: {"a": "1", "b": "1"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, want (-), got (+):\n%s", err, diff)
	}
}

func TestVariablesThatCannotBeReadAreNotEmpty(t *testing.T) {
	mutations := []v1alpha1.Mutation{{Namespace: "n"}, substituteFrom(v1alpha1.ValuesReference{Kind: v1alpha1.FromSecret, Name: "vars"})}
	if _, err := Variables(t.Context(), &cluster{}, namespace, mutations); err == nil ||
		err.Error() != "mutations[1].substitute.from: Secret "+namespace+"/vars does not exist" {
		t.Errorf("error %v", err)
	}
	mutations[1].Substitute.From[0].Optional = true
	_, err := Variables(t.Context(), &cluster{err: errors.New("no route to host")}, namespace, mutations)
	if err == nil || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("an optional Secret that cannot be read: error %v", err)
	}
}
