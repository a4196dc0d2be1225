// Package testenv hides how a test gets a real Kubernetes API server: which binaries run, with which flags, who may talk to it, and that
// nothing of it outlives the test binary.
//
// A package that needs one starts it once for all its tests:
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
//
//	func TestApplyCreatesTheObject(t *testing.T) {
//		env := testenv.Shared(t)
//		namespace := env.Namespace(t)
//		…
//	}
//
// A Ginkgo suite takes its own: env = testenv.Start(GinkgoTB()) in BeforeSuite. So does a test that needs other flags, or an audit log
// without the requests of its neighbors.
//
// The API server has the CRDs of config/crd, RBAC, and no controllers: namespaces stay Terminating and nothing is garbage collected
// until StartControllerManager.
package testenv
