package apiserver_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/convoy-dev/convoy/apiserver/apiservertest"
	"github.com/convoy-dev/convoy/internal/testenv"
)

var (
	env    *testenv.Environment
	server *apiservertest.Server
)

func TestAPIServer(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "apiserver")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(GinkgoLogr)
	klog.SetLogger(GinkgoLogr)
	env = testenv.Start(GinkgoTB(), testenv.WithAggregation())
	server = apiservertest.Start(GinkgoTB(), env)
})
