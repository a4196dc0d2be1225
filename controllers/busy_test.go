package controllers_test

import (
	"context"
	"net/http"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/convoy-dev/convoy/controllers"
	"github.com/convoy-dev/convoy/internal/testenv"
)

var _ = Describe("An object that others write all the time", func() {
	It("is not written again while it is as desired", func() {
		w := newWorld()
		w.create("app")
		w.deploy("app", "one")
		// Somebody else changes the object between the reading and the dry run of it.
		var once sync.Once
		config := rest.CopyConfig(env.Config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodPatch && req.URL.Query().Get("dryRun") == "All" {
					once.Do(func() {
						cm := w.configMap("a")
						metav1.SetMetaDataAnnotation(&cm.ObjectMeta, "example.com/seen", "now")
						Expect(env.Client.Update(context.Background(), cm)).To(Succeed())
					})
				}
				return next.RoundTrip(req)
			})
		})
		targets, err := controllers.NewTargets(config)
		Expect(err).NotTo(HaveOccurred())
		w.restart()
		w.controller.Targets = targets
		before := len(env.Requests(GinkgoTB()))
		w.pass("app")
		Expect(w.configMap("a").Annotations).To(HaveKey("example.com/seen"))
		for _, request := range env.Requests(GinkgoTB())[before:] {
			if request.ObjectRef != nil && request.ObjectRef.Resource == "configmaps" && request.ObjectRef.Namespace == w.namespace && request.Verb == "patch" {
				Expect(testenv.IsWrite(request)).To(BeFalse(), request.RequestURI)
			}
		}
	})
})
