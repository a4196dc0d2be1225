package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// mutationFrom reads mutations as a Release has them.
func mutationsFrom(t testing.TB, text string) []v1alpha1.Mutation {
	t.Helper()
	var mutations []v1alpha1.Mutation
	if err := yaml.UnmarshalStrict([]byte(text), &mutations); err != nil {
		t.Fatal(err)
	}
	return mutations
}

// renderOf is a render of manifests.
func renderOf(t testing.TB, manifests ...string) Render {
	t.Helper()
	return files{"all.yaml": strings.Join(manifests, "\n---\n")}.mustBuild(t, v1alpha1.RenderPlain, "")
}

// objectsIn are the objects of a render by identity.
func objectsIn(t testing.TB, r Render) map[ObjectID]map[string]any {
	t.Helper()
	objects, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return byIdentity(objects...)
}

// TestMutationsDoWhatKustomizeDoes compares each mutation with the member of a kustomization that does the same.
func TestMutationsDoWhatKustomizeDoes(t *testing.T) {
	sources := map[string]Render{}
	for _, dir := range []string{"argo-cd/manifests", "podinfo-6.14.0/deploy/webapp", "online-boutique/kustomize/base"} {
		r, err := Build(t.Context(), corpusFS(t), dir, v1alpha1.RenderSpec{})
		if err != nil {
			t.Fatal(err)
		}
		sources[dir] = r
	}
	_, after, _ := strings.Cut(string(sources["podinfo-6.14.0/deploy/webapp"].Bytes()), `"image":"`)
	podinfo, _, _ := strings.Cut(after, ":")
	for name, tc := range map[string]struct{ dir, mutations, kustomization string }{
		"namespace of several folders": {"online-boutique/kustomize/base", `[{namespace: other}]`, `namespace: other`},
		"namespace of an application":  {"argo-cd/manifests", `[{namespace: other}]`, `namespace: other`},
		"labels": {
			"online-boutique/kustomize/base", `[{labels: {team: a, "app.kubernetes.io/part-of": b}}]`,
			`labels: [{pairs: {team: a, "app.kubernetes.io/part-of": b}}]`,
		},
		"annotations of objects alone": {
			"podinfo-6.14.0/deploy/webapp", `[{annotations: {a: "1", b: "true"}}]`,
			"transformers: [t.yaml]",
		},
		"image: a tag": {
			"podinfo-6.14.0/deploy/webapp", `[{image: {name: ` + podinfo + `, newTag: 6.15.0}}]`,
			`images: [{name: ` + podinfo + `, newTag: 6.15.0}]`,
		},
		"image: a digest": {
			"podinfo-6.14.0/deploy/webapp", `[{image: {name: ` + podinfo + `, digest: "sha256:aa"}}]`,
			`images: [{name: ` + podinfo + `, digest: "sha256:aa"}]`,
		},
		"image: a name": {
			"online-boutique/kustomize/base", `[{image: {name: busybox, newName: example.com/busybox}}]`,
			`images: [{name: busybox, newName: example.com/busybox}]`,
		},
		"replicas": {
			"podinfo-6.14.0/deploy/webapp", `[{replicas: {name: backend, count: 3}}]`, `replicas: [{name: backend, count: 3}]`,
		},
		"a strategic merge patch": {
			"podinfo-6.14.0/deploy/webapp",
			`[{patch: {patch: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: backend, namespace: webapp}, spec: {template: {spec: {containers: [{name: backend, tty: true}]}}}}"}}]`,
			`patches: [{patch: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: backend, namespace: webapp}, spec: {template: {spec: {containers: [{name: backend, tty: true}]}}}}"}]`,
		},
		"a strategic merge patch with a target": {
			"argo-cd/manifests",
			`[{patch: {target: {kind: Deployment|StatefulSet, labelSelector: "app.kubernetes.io/part-of=argocd"}, patch: "{kind: x, metadata: {name: x}, spec: {template: {spec: {priorityClassName: high}}}}"}}]`,
			`patches: [{target: {kind: Deployment|StatefulSet, labelSelector: "app.kubernetes.io/part-of=argocd"}, patch: "{apiVersion: apps/v1, kind: x, metadata: {name: x}, spec: {template: {spec: {priorityClassName: high}}}}"}]`,
		},
		"a patch that deletes": {
			"online-boutique/kustomize/base",
			`[{patch: {target: {kind: ServiceAccount}, patch: "{kind: ServiceAccount, metadata: {name: x}, $patch: delete}"}}]`,
			`patches: [{target: {kind: ServiceAccount}, patch: "{apiVersion: v1, kind: ServiceAccount, metadata: {name: x}, $patch: delete}"}]`,
		},
		"a JSON patch": {
			"podinfo-6.14.0/deploy/webapp",
			`[{patch: {target: {group: apps, version: v1, kind: Deployment, name: "front.*|backend"}, patch: "[{op: add, path: /spec/template/spec/containers/-, value: {name: x, image: example.com/x}}]"}}]`,
			`patches: [{target: {group: apps, version: v1, kind: Deployment, name: "front.*|backend"}, patch: "- {op: add, path: /spec/template/spec/containers/-, value: {name: x, image: example.com/x}}"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := sources[tc.dir]
			got, err := Mutate(t.Context(), source, mutationsFrom(t, tc.mutations), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Ref() == source.Ref() {
				t.Fatal("the mutation changes nothing")
			}
			want := files{
				"all.json":           `{"apiVersion": "v1", "kind": "List", "items": ` + string(source.Bytes()) + `}`,
				"kustomization.yaml": "resources: [all.json]\n" + tc.kustomization,
				"t.yaml": "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: x}\nannotations: {a: \"1\", b: \"true\"}\n" +
					"fieldSpecs: [{path: metadata/annotations, create: true}]\n",
			}.mustBuild(t, v1alpha1.RenderKustomize, "")
			if want.Ref() != got.Ref() {
				t.Errorf("kustomize (-), mutation (+):\n%s", cmp.Diff(objectsIn(t, want), objectsIn(t, got)))
			}
		})
	}
}

// TestReferencesFollowToTheNamespace has what no corpus has: webhooks and bindings of one render that name its objects and others.
func TestReferencesFollowToTheNamespace(t *testing.T) {
	manifests := []string{
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: ours, namespace: old}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: ours, namespace: old}}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {kind: ClusterRole, name: r, apiGroup: rbac.authorization.k8s.io},
		  subjects: [{kind: ServiceAccount, name: ours, namespace: old}, {kind: ServiceAccount, name: ours, namespace: elsewhere}, {kind: ServiceAccount, name: default, namespace: old}, {kind: User, name: somebody}]}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w},
		  webhooks: [{name: a.example.com, clientConfig: {service: {name: ours, namespace: old}}}, {name: b.example.com, clientConfig: {service: {name: theirs, namespace: old}}}]}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: old}}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}`,
	}
	got, err := Mutate(t.Context(), renderOf(t, manifests...), mutationsFrom(t, `[{namespace: new}]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := files{"all.yaml": strings.Join(manifests, "\n---\n"), "kustomization.yaml": "resources: [all.yaml]\nnamespace: new\n"}
	if diff := cmp.Diff(objectsIn(t, want.mustBuild(t, v1alpha1.RenderKustomize, "")), objectsIn(t, got)); diff != "" {
		t.Errorf("kustomize (-), mutation (+):\n%s", diff)
	}
}

func TestMutationsApplyInTheirOrder(t *testing.T) {
	source := renderOf(t, deployment, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {host: "${host}"}}`)
	got, err := Mutate(t.Context(), source, mutationsFrom(t, `
- substitute: {vars: {host: a.example.com}}
- image: {name: example.com/app, newName: example.com/other}
- image: {name: example.com/other, newTag: "2"}
- namespace: first
- patch: {target: {namespace: first, kind: ConfigMap}, patch: "[{op: replace, path: /metadata/name, value: d}]"}
- namespace: second
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	objects := objectsIn(t, got)
	app := objects[ObjectID{Group: "apps", Kind: "Deployment", Namespace: "second", Name: "app"}]
	containers, _, _ := unstructured.NestedSlice(app, "spec", "template", "spec", "containers")
	if len(containers) != 1 || containers[0].(map[string]any)["image"] != "example.com/other:2" {
		t.Errorf("containers %v", containers)
	}
	if data := objects[ObjectID{Kind: "ConfigMap", Namespace: "second", Name: "d"}]["data"]; !cmp.Equal(data, map[string]any{"host": "a.example.com"}) {
		t.Errorf("data %v", data)
	}
}

func TestWithoutMutationsTheRenderStaysAsItIs(t *testing.T) {
	source := renderOf(t, deployment)
	if got, err := Mutate(t.Context(), source, nil, nil); err != nil || got.Ref() != source.Ref() {
		t.Errorf("ref %s and error %v, want %s", got.Ref(), err, source.Ref())
	}
}

func TestMutationsThatCannotBeDone(t *testing.T) {
	for name, tc := range map[string]struct{ mutations, want string }{
		"a patch that matches nothing": {
			`[{labels: {a: b}}, {patch: {target: {kind: Deployment, name: other}, patch: "[{op: remove, path: /spec/replicas}]"}}]`,
			"mutations[1].patch: no object matches its target kind: Deployment, name: other",
		},
		"a merge patch that matches nothing": {
			`[{patch: {patch: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: other}}"}}]`,
			"mutations[0].patch: no object matches Deployment other",
		},
		"a JSON patch without a target": {
			`[{patch: {patch: "[{op: remove, path: /spec/replicas}]"}}]`, "mutations[0].patch: target: a JSON patch needs one",
		},
		"a merge patch without anything to go by": {
			`[{patch: {patch: "{spec: {replicas: 2}}"}}]`, "mutations[0].patch: ",
		},
		"a patch that is no YAML": {`[{patch: {patch: "{"}}]`, "mutations[0].patch: patch: not YAML: "},
		"a patch that is text":    {`[{patch: {patch: "hello"}}]`, "mutations[0].patch: patch: want one object"},
		"an operation that is none": {
			`[{patch: {target: {kind: Deployment}, patch: "[{op: remove, path: /spec/nothing}]"}}]`,
			"mutations[0].patch: Deployment.apps app: kustomize: ",
		},
		"a target that is no expression": {
			`[{patch: {target: {kind: "("}, patch: "[{op: remove, path: /spec/replicas}]"}}]`, "mutations[0].patch: target: ",
		},
		"a selector that is none": {
			`[{patch: {target: {labelSelector: "a in"}, patch: "[{op: remove, path: /spec/replicas}]"}}]`,
			"mutations[0].patch: Deployment.apps app: target: labelSelector: ",
		},
		"an image that nothing has": {
			`[{image: {name: example.com/ap, newTag: "2"}}]`, "mutations[0].image: no object has the image example.com/ap",
		},
		"replicas of nothing": {`[{replicas: {name: other, count: 2}}]`, "mutations[0].replicas: no object named other has replicas"},
		"two objects that become one": {
			`[{patch: {target: {kind: Deployment|Job}, patch: "[{op: replace, path: /kind, value: Job}, {op: replace, path: /apiVersion, value: batch/v1}, {op: replace, path: /metadata/name, value: x}]"}}]`,
			"Job.batch x is defined twice, in Deployment.apps app of the source and in Job.batch job of the source",
		},
		"no member": {`[{}]`, "mutations[0].: want one of namespace, labels, "},
	} {
		t.Run(name, func(t *testing.T) {
			source := renderOf(t, deployment, `{apiVersion: batch/v1, kind: Job, metadata: {name: job}}`)
			got, err := Mutate(t.Context(), source, mutationsFrom(t, tc.mutations), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !got.IsZero() {
				t.Errorf("render %s and error %v, want %q", got.Ref(), err, tc.want)
			}
		})
	}
}

func TestErrorsOfPatchesHoldNoSecret(t *testing.T) {
	source := renderOf(t, `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: hunter2hunter2}}`)
	for _, patch := range []string{
		`[{op: test, path: /stringData/password, value: correcthorse}]`,
		`[{op: replace, path: /stringData/nothing, value: correcthorse}]`,
		`{kind: Secret, metadata: {name: s}, stringData: [correcthorse]}`,
	} {
		mutation := []v1alpha1.Mutation{{Patch: &v1alpha1.PatchMutation{Target: &v1alpha1.PatchTarget{Kind: "Secret"}, Patch: patch}}}
		_, err := Mutate(t.Context(), source, mutation, nil)
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "correcthorse")) {
			t.Errorf("%s: %v", patch, err)
		}
	}
}

// TestMutationsTakeMoreObjectsThanKustomize: what is linear needs no limit of its own.
func TestMutationsTakeMoreObjectsThanKustomize(t *testing.T) {
	source := renderOf(t, manyConfigMaps(maxKustomizeObjects+1)...)
	got, err := Mutate(t.Context(), source, mutationsFrom(t, `[{labels: {a: b}}]`), nil)
	if err != nil || got.Len() != source.Len() || got.Ref() == source.Ref() {
		t.Errorf("%d objects and error %v, want %d that changed", got.Len(), err, source.Len())
	}
}

func manyConfigMaps(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}, data: {a: b}}`, i))
	}
	return list
}
