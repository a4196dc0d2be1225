package redact

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// object reads a manifest; nil for none.
func object(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	if manifest == "" {
		return nil
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func content(obj *unstructured.Unstructured) map[string]any {
	if obj == nil {
		return nil
	}
	return obj.Object
}

func TestEqualValuesStayEqualDifferentOnesStayDifferentAndNothingElseGetsOut(t *testing.T) {
	const head = "{apiVersion: v1, kind: Secret, metadata: {name: s}, "
	for name, tc := range map[string]struct{ before, after, wantBefore, wantAfter string }{
		"equal and different": {
			head + "data: {same: YWJjZA==, other: YQ==}}", head + "data: {same: YWJjZA==, other: Yg==}}",
			head + "data: {same: '***', other: '***'}}", head + "data: {same: '***', other: '*** (changed)'}}",
		},
		"added and removed": {
			head + "data: {old: YQ==}}", head + "data: {new: YQ==}}", head + "data: {old: '***'}}", head + "data: {new: '***'}}",
		},
		"empty ones are values too": {
			head + "data: {a: '', b: ''}}", head + "data: {a: '', b: YQ==}}",
			head + "data: {a: '***', b: '***'}}", head + "data: {a: '***', b: '*** (changed)'}}",
		},
		"ones that look like the mask": {
			head + "stringData: {a: '***', b: '***', c: x}}", head + "stringData: {a: hidden, b: '***', c: '***'}}",
			head + "stringData: {a: '***', b: '***', c: '***'}}", head + "stringData: {a: '*** (changed)', b: '***', c: '*** (changed)'}}",
		},
		"one side alone": {"", head + "stringData: {a: x}}", "", head + "stringData: {a: '***'}}"},
		"the other side": {head + "data: {a: eA==}}", "", head + "data: {a: '***'}}", ""},
		"values of other kinds": {
			head + "data: {n: 1, l: [a], m: {b: c}, z: null}}", head + "data: {n: 1, l: [b], m: {b: c}, z: null}}",
			head + "data: {n: '***', l: '***', m: '***', z: '***'}}", head + "data: {n: '***', l: '*** (changed)', m: '***', z: '***'}}",
		},
		"fields of another shape": {
			head + "data: hidden, stringData: [hidden]}", head + "data: {a: eA==}, stringData: [other]}",
			head + "data: '***', stringData: '***'}", head + "data: '*** (changed)', stringData: '*** (changed)'}",
		},
		"no values": {head + "data: {}, type: Opaque}", head + "type: Opaque}", head + "data: {}, type: Opaque}", head + "type: Opaque}"},
		"annotations that repeat them": {
			"{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}', copy: was correct-horse, base64: Y29ycmVjdC1ob3JzZQ==, plain: fine}}, data: {a: Y29ycmVjdC1ob3JzZQ==}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"a\":1}', copy: nothing, plain: other}}, data: {}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: '***', copy: '***', base64: '***', plain: fine}}, data: {a: '***'}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: '*** (changed)', copy: '*** (changed)', plain: other}}, data: {}}",
		},
		"other kinds stay": {
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: s}, data: {a: b}}", "{apiVersion: bitnami.com/v1alpha1, kind: Secret, metadata: {name: s}, data: {a: b}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: s}, data: {a: b}}", "{apiVersion: bitnami.com/v1alpha1, kind: Secret, metadata: {name: s}, data: {a: b}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := object(t, tc.before), object(t, tc.after)
			Secrets(before, after)
			if diff := cmp.Diff(content(object(t, tc.wantBefore)), content(before)); diff != "" {
				t.Errorf("before (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(content(object(t, tc.wantAfter)), content(after)); diff != "" {
				t.Errorf("after (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValuesAreTakenOutOfTextInEveryForm(t *testing.T) {
	r := ValuesOf(nil, object(t, `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Y29ycmVjdC1ob3JzZQ==, n: 1234567}, stringData: {b: "say \"friend\"", c: "one line\nanother line\n", d: abc}}`),
		object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: ordinary}}`))
	for text, want := range map[string]string{
		"got correct-horse":        "got ***",
		"got Y29ycmVjdC1ob3JzZQ==": "got ***",
		"number 1234567":           "number ***",
		`want say "friend"`:        "want ***",
		`want "say \"friend\""`:    `want "***"`,
		"line another line":        "line ***",
		"abc is too short":         "abc is too short",
		"ordinary text":            "ordinary text",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	plain := errors.New("ordinary")
	if got := r.Err(plain); !errors.Is(got, plain) {
		t.Errorf("an error without values became %v", got)
	}
	if got := r.Err(errors.New("correct-horse")); got.Error() != "***" {
		t.Errorf("got %v", got)
	}
}
