package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/kustomize/api/filters/namespace"
	kustomizetypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

// namespaceMutation puts all namespaced objects into one namespace, and has references to objects of the same render follow, as a
// kustomization with namespace does.
type namespaceMutation struct {
	filters
	name   string
	moving map[string]map[types.NamespacedName]bool // by kind: the objects that move
}

// referents are the kinds that other objects name along with their namespace.
var referents = []string{"ServiceAccount", "Service"}

// newNamespace prepares to move the objects of a render.
func newNamespace(name string, objects []*unstructured.Unstructured) namespaceMutation {
	n := namespaceMutation{filters: filters{namespaceFilter(name)}, name: name, moving: map[string]map[types.NamespacedName]bool{}}
	for _, kind := range referents {
		n.moving[kind] = map[types.NamespacedName]bool{}
	}
	for _, obj := range objects {
		if moving, ok := n.moving[obj.GetKind()]; ok && obj.GroupVersionKind().Group == "" {
			moving[types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}] = true
		}
	}
	return n
}

// namespaceFilter sets the namespace where kustomize's transformer does:
// https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/namespace.go
func namespaceFilter(name string) namespace.Filter {
	return namespace.Filter{
		Namespace:              name,
		SetRoleBindingSubjects: namespace.DefaultSubjectsOnly,
		FsSlice: kustomizetypes.FsSlice{
			{Path: "metadata/name", Gvk: resid.Gvk{Kind: "Namespace"}, CreateIfNotPresent: true},
			{Path: "spec/service/namespace", Gvk: resid.Gvk{Group: "apiregistration.k8s.io", Kind: "APIService"}, CreateIfNotPresent: true},
			{
				Path: "spec/conversion/webhook/clientConfig/service/namespace",
				Gvk:  resid.Gvk{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
			},
		},
	}
}

func (n namespaceMutation) mutate(m *mutant) (bool, error) {
	object, err := m.fields()
	if err != nil {
		return false, err
	}
	n.follow(object)
	return n.filters.mutate(m)
}

// follow changes the namespace in references to objects that move.
func (n namespaceMutation) follow(object map[string]any) {
	switch object["kind"] {
	case "RoleBinding", "ClusterRoleBinding":
		for _, subject := range elements(object["subjects"]) {
			if subject["kind"] == "ServiceAccount" {
				n.move("ServiceAccount", subject)
			}
		}
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		for _, webhook := range elements(object["webhooks"]) {
			if service, ok, _ := unstructured.NestedFieldNoCopy(webhook, "clientConfig", "service"); ok {
				if reference, ok := service.(map[string]any); ok {
					n.move("Service", reference)
				}
			}
		}
	}
}

// move changes a reference, if it is to an object that moves.
func (n namespaceMutation) move(kind string, reference map[string]any) {
	name, _ := reference["name"].(string)
	from, _ := reference["namespace"].(string)
	if n.moving[kind][types.NamespacedName{Namespace: from, Name: name}] {
		reference["namespace"] = n.name
	}
}

// elements are the mappings in a list.
func elements(list any) []map[string]any {
	values, _ := list.([]any)
	var found []map[string]any
	for _, value := range values {
		if element, ok := value.(map[string]any); ok {
			found = append(found, element)
		}
	}
	return found
}
