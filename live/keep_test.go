package live

import (
	"maps"
	"testing"

	"github.com/convoy-dev/convoy/render"
)

func TestProtectedKindsAreKept(t *testing.T) {
	owner := Owner{Namespace: "apps", Name: "podinfo", UID: "1"}
	for _, tc := range []struct {
		manifest string
		policy   Policy
		kept     bool
	}{
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, Policy{Delete: true}, false},
		{`{apiVersion: v1, kind: Namespace, metadata: {name: a}}`, Policy{Delete: true}, true},
		{`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}}`, Policy{Delete: true}, true},
		{`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}`, Policy{Delete: true}, true},
		{`{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {convoy.dev/prune: enabled}}}`, Policy{Delete: true}, false},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {convoy.dev/prune: disabled}}}`, Policy{Delete: true}, true},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {argocd.argoproj.io/sync-options: "Validate=false, Prune=false"}}}`, Policy{Delete: true}, true},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {argocd.argoproj.io/sync-options: Prune=true}}}`, Policy{Delete: true}, false},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {helm.sh/resource-policy: keep}}}`, Policy{Delete: true}, true},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {helm.sh/resource-policy: keep, convoy.dev/prune: enabled}}}`, Policy{Delete: true}, false},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}}}`, Policy{Delete: true}, true},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {kustomize.toolkit.fluxcd.io/prune: Disabled}}}`, Policy{Delete: true}, true},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {kustomize.toolkit.fluxcd.io/prune: enabled}}}`, Policy{Delete: true}, false},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled, convoy.dev/prune: enabled}}}`, Policy{Delete: true}, false},
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, Policy{KeptBecause: "off"}, true},
		{`{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {convoy.dev/prune: enabled}}}`, Policy{KeptBecause: "off"}, true},
	} {
		obj := object(t, tc.manifest)
		theirs := obj.GetLabels()
		marked := func(labels map[string]string) {
			maps.Copy(labels, theirs)
			obj.SetLabels(labels)
		}
		marked(owner.Labels())
		why := tc.policy.Keeps(owner, render.IDOf(obj), obj)
		if (why != "") != tc.kept {
			t.Errorf("%s with %+v: kept because %q, want kept %t", tc.manifest, tc.policy, why, tc.kept)
		}
		marked(Owner{Namespace: "apps", Name: "another"}.Labels())
		if why := tc.policy.Keeps(owner, render.IDOf(obj), obj); why == "" {
			t.Errorf("%s of somebody else would be deleted", tc.manifest)
		}
	}
}
