package observer_test

import (
	"io"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/convoy-dev/convoy/apiserver/apiservertest"
	"github.com/convoy-dev/convoy/internal/gitserver"
	"github.com/convoy-dev/convoy/internal/testenv"
)

var (
	env     *testenv.Environment
	watcher *apiservertest.Observer // the observer
	git     *gitserver.Server
	gitRoot string
	said    = &testenv.Output{} // what everything logs
	logger  logr.Logger
)

func TestObserver(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "observer")
}

var _ = BeforeSuite(func() {
	logger = zap.New(zap.WriteTo(io.MultiWriter(GinkgoWriter, said)), zap.UseDevMode(true))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	env = testenv.Start(GinkgoTB(), testenv.WithAggregation())
	watcher = apiservertest.StartObserver(GinkgoTB(), env)
	apiservertest.Start(GinkgoTB(), env, watcher.Behind(GinkgoTB()))
	gitRoot = GinkgoTB().TempDir()
	var err error
	git, err = gitserver.Start(gitRoot, gitserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(git.Stop)
})
