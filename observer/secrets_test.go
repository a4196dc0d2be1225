package observer_test

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	subresources "github.com/convoy-dev/convoy/api/subresources/v1alpha1"
)

// secrets are values that nobody may see: of the first render, of the second, and of somebody who changed the live object.
var secrets = map[string]string{
	"first": "correct-horse-1", "second": "battery-staple-2", "binary": "\x00\xff\xfe binary \x01\x02\x03", "lines": "-----BEGIN KEY-----\nabcdefgh\nijklmnop\n",
	"foreign": "tr0ub4dor&3", "quoted": `say "friend" \ and enter`,
}

// hidden are the forms in which none of them may be seen.
func hidden() []string {
	var forms []string
	for _, value := range secrets {
		encoded := base64.StdEncoding.EncodeToString([]byte(value))
		forms = append(forms, value, encoded, strings.Trim(fmt.Sprintf("%q", value), `"`))
		for _, text := range []string{value, encoded} {
			s256, s1, m5 := sha256.Sum256([]byte(text)), sha1.Sum([]byte(text)), md5.Sum([]byte(text))
			forms = append(forms, hex.EncodeToString(s256[:])[:12], hex.EncodeToString(s1[:])[:12], hex.EncodeToString(m5[:])[:12])
		}
	}
	return append(forms, "ijklmnop")
}

func expectHidden(what, text string) {
	GinkgoHelper()
	for _, form := range hidden() {
		Expect(strings.Contains(text, form)).To(BeFalse(), "%s shows %q:\n%s", what, form, text)
	}
}

// secret is the manifest of a Secret: what is in data, and what is in stringData.
func secret(value string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n" +
		"  binary: " + base64.StdEncoding.EncodeToString([]byte(secrets["binary"])) + "\n  empty: \"\"\n  changed: " +
		base64.StdEncoding.EncodeToString([]byte(value)) + "\n" +
		"stringData:\n  text: " + value + "\n  same: " + fmt.Sprintf("%q", secrets["quoted"]) + "\n  lines: " + fmt.Sprintf("%q", secrets["lines"]) + "\n"
}

var _ = Describe("The values of Secrets", func() {
	It("are in no response, event, log or error; equal stays equal, and different stays visible", func() {
		w := newWorld()
		w.create()
		first := w.deploy(map[string]string{"s.yaml": secret(secrets["first"])})
		w.toManual()
		live := w.object(corev1.SchemeGroupVersion.WithKind("Secret"), "s")
		annotations := fmt.Sprintf(`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q,"backup":%q,"plain":"fine"}},"data":{"foreign":%q}}`,
			`{"kind":"Secret","stringData":{"text":"`+secrets["first"]+`"}}`, "was "+secrets["first"], base64.StdEncoding.EncodeToString([]byte(secrets["foreign"])))
		Expect(env.Client.Patch(GinkgoT().Context(), live, client.RawPatch(types.MergePatchType, []byte(annotations)))).To(Succeed())
		w.commit(map[string]string{"s.yaml": secret(secrets["second"])})

		var answers []answer
		var d subresources.ReleaseDiff
		Eventually(func() []string { d = diffOf(w.admin("diff")); return actions(d) }).WithTimeout(10 * time.Second).Should(Equal([]string{"update Secret s"}))
		answers = append(answers, w.admin("diff"))
		paths := map[string]string{}
		for _, operation := range d.Changes[0].Patch {
			paths[operation.Path] = operation.Op + " " + string(operation.Value.Raw)
		}
		Expect(paths).To(Equal(map[string]string{"/data/text": `replace "*** (changed)"`, "/data/changed": `replace "*** (changed)"`}))
		Expect(d.Changes[0].Unified).To(And(
			ContainSubstring("-  changed: '***'\n+  changed: '*** (changed)'\n"), ContainSubstring("   empty: '***'\n"), ContainSubstring("   lines: '***'\n")))

		w.sync()
		for _, what := range []string{"history", "diff", "diff?render=" + first, "render?render=" + first, "render?render=" + w.current().Status.LastSuccessful.RenderRef} {
			a := w.admin(what)
			Expect(a.code).To(Equal(http.StatusOK), "%s: %s", what, a.message)
			answers = append(answers, a)
		}
		Expect(string(w.admin("render?render=" + first).body)).To(ContainSubstring(`"stringData":{"lines":"***","same":"***","text":"***"}`))

		By("creating it anew, and deleting it")
		Expect(env.Client.Delete(GinkgoT().Context(), w.object(corev1.SchemeGroupVersion.WithKind("Secret"), "s"))).To(Succeed())
		answers = append(answers, w.admin("diff"))
		w.sync()
		w.commit(map[string]string{"other.yaml": configMap("other", "x")})
		Eventually(func() []string { return actions(diffOf(w.admin("diff"))) }).WithTimeout(10 * time.Second).Should(ContainElement("delete Secret s"))
		answers = append(answers, w.admin("diff"))

		By("rendering one that is malformed")
		for _, data := range []string{"data: {text: " + secrets["first"] + "}", "data: {text: 1234567}", "stringData: {text: [" + secrets["first"] + "]}", "data: " + secrets["first"]} {
			w.commit(map[string]string{"s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: broken}\n" + data + "\n"})
			Eventually(func() string {
				a := w.admin("diff")
				answers = append(answers, a)
				return string(a.body)
			}).WithTimeout(10 * time.Second).Should(ContainSubstring("broken"))
			answers = append(answers, w.admin("diff"))
			w.sync()
		}

		for i, a := range answers {
			expectHidden(fmt.Sprint("answer ", i), string(a.body))
			expectHidden(fmt.Sprint("header of answer ", i), fmt.Sprint(a.header))
		}
		expectHidden("an event", strings.Join(w.events.All(), "\n"))
		expectHidden("the log", said.String())
		expectHidden("the status", fmt.Sprint(w.current().Status))
	})
})
