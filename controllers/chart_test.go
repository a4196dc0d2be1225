package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

var _ = Describe("A chart", func() {
	chart := map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"values.yaml": "key: chart\nother: chart\n",
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" +
			"data: {key: '{{ .Values.key }} {{ .Values.other }} {{ .Release.Name }} {{ .Release.Namespace }}'}\n",
		"templates/widgets.yaml": "{{ if .Capabilities.APIVersions.Has \"apps/v1/Deployment\" }}apiVersion: v1\nkind: ConfigMap\n" +
			"metadata: {name: served}\ndata: {key: '{{ .Capabilities.KubeVersion.Major }}'}{{ end }}\n",
	}

	It("is deployed with the values of the spec, over those that it names, over its own", func() {
		w := newWorld()
		w.commit("v1", chart)
		values := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "values"}, StringData: map[string]string{"values.yaml": "other: secret\nkey: secret"},
		}
		Expect(env.Client.Create(context.Background(), values)).To(Succeed())
		w.create("app", func(r *v1alpha1.Release) {
			r.Spec.Render.Helm = &v1alpha1.HelmRender{
				Values:     &apiextensionsv1.JSON{Raw: []byte(`{"key": "spec"}`)},
				ValuesFrom: []v1alpha1.HelmValuesReference{{ValuesReference: v1alpha1.ValuesReference{Kind: v1alpha1.FromSecret, Name: "values"}}},
			}
		})
		release := w.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
		Expect(w.value("a")).To(Equal("spec secret app " + w.namespace))
		Expect(w.value("served")).To(Equal("1"), "templates see what the cluster serves")

		values.StringData = map[string]string{"values.yaml": "other: changed"}
		Expect(env.Client.Update(context.Background(), values)).To(Succeed())
		w.settle("app")
		Expect(w.value("a")).To(Equal("spec changed app " + w.namespace))
	})

	It("that fails says which template, and changes nothing", func() {
		d := newDeployed()
		d.commit("v2", map[string]string{"Chart.yaml": chart["Chart.yaml"], "templates/a.yaml": `{{ required "set .Values.image" .Values.image }}`})
		release := d.settle("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("False RenderFailed"))
		Expect(message(release, v1alpha1.ConditionReady)).To(And(ContainSubstring("web/templates/a.yaml"), ContainSubstring("set .Values.image")))
		Expect(d.value("a")).To(Equal("good"))
	})
})
