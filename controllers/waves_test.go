package controllers_test

import (
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// deployment is the manifest of a Deployment, which is healthy once the spec says so: no controller runs here.
func deployment(name, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: main, image: "example.com/%[1]s:%[2]s"}]}
`, name, image)
}

// job is the manifest of a Job.
func job(name string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/job}]}}}
`, name)
}

// end ends a Job, as its controller would.
func (w *world) end(job string, success bool) {
	GinkgoHelper()
	const at = `"2026-01-01T00:00:00Z"`
	status := `{"startTime":` + at + `,"failed":1,"conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"}]}`
	if success {
		status = `{"startTime":` + at + `,"completionTime":` + at + `,"succeeded":1,"active":0,"ready":0,"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}`
	}
	setStatus(w.live("batch/v1", "Job", job), status)
}

// pause lets time go by.
func (w *world) pause(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

var _ = Describe("Waves", func() {
	const timeout = 5 * time.Minute // the default
	var w *world

	BeforeEach(func() {
		w = newWorld()
		w.create("app")
	})

	// three is a ConfigMap in wave -1, a Deployment in wave 0 and a ConfigMap in wave 5, of one version.
	three := func(version string) {
		w.commit(version, map[string]string{
			"first.yaml": inWave(-1, configMap("first", version)), "web.yaml": deployment("web", version), "last.yaml": inWave(5, configMap("last", version)),
		})
	}
	applied := func() string {
		GinkgoHelper()
		w.pass("app")
		return condition(w.get("app"), v1alpha1.ConditionApplied)
	}
	expectSync := func(phase v1alpha1.SyncPhase, wave int32, since time.Time) {
		GinkgoHelper()
		release := w.get("app")
		Expect(release.Status.Sync).NotTo(BeNil())
		Expect(release.Status.Sync.Phase).To(Equal(phase))
		Expect(release.Status.Sync.Wave).To(Equal(wave))
		Expect(release.Status.Sync.RenderRef).To(Equal(release.Status.LastAttempted.RenderRef))
		Expect(release.Status.Sync.StartedAt.Time).To(BeTemporally("==", since))
	}

	It("go in order, each healthy before anything is changed in the next", func() {
		three("v1")
		Expect(applied()).To(Equal("Unknown Progressing"))
		Expect(w.value("first")).To(Equal("v1"))
		Expect(w.value("last")).To(BeEmpty())
		Expect(message(w.get("app"), v1alpha1.ConditionApplied)).To(ContainSubstring("Waiting for wave 0 to be healthy: Deployment.apps " + w.namespace + "/web"))
		expectSync(v1alpha1.SyncPhaseWave, 0, w.clock.Now())
		Expect(w.recorded("app")).To(HaveLen(3), "what may be applied is recorded before")
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty(), "a pass that waits changes nothing")
		w.becomeHealthy("web")
		Expect(applied()).To(Equal("True Succeeded"))
		Expect(w.value("last")).To(Equal("v1"))
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(release.Status.Sync).To(BeNil())
		Expect(w.history("app")).To(HaveLen(1))
	})

	It("come before the prune: everything is healthy before something is deleted", func() {
		w.commit("v1", map[string]string{"old.yaml": configMap("old", "v1"), "first.yaml": configMap("first", "v1")})
		w.settle("app")
		w.commit("v2", map[string]string{"web.yaml": deployment("web", "v2"), "first.yaml": configMap("first", "v2")})
		Expect(applied()).To(Equal("Unknown Progressing"))
		Expect(w.value("first")).To(Equal("v2"))
		Expect(w.value("old")).To(Equal("v1"))
		w.becomeHealthy("web")
		Expect(applied()).To(Equal("True Succeeded"))
		Expect(w.value("old")).To(BeEmpty())
	})

	It("count as applied when the last is written, if nothing is to be pruned, and Healthy says how they are", func() {
		w.commit("v1", map[string]string{"first.yaml": inWave(-1, configMap("first", "v1")), "web.yaml": deployment("web", "v1")})
		Expect(applied()).To(Equal("True Succeeded"))
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("Unknown Progressing"))
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("Unknown Progressing"))
		Expect(w.history("app")).To(HaveLen(1))
	})

	It("time out after spec.timeout, and go on as soon as they are healthy", func() {
		three("v1")
		started := w.clock.Now()
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.pause(timeout - time.Second)
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.pause(time.Second)
		Expect(applied()).To(Equal("False TimedOut"))
		release := w.get("app")
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(ContainSubstring("Not done within 5m0s"), ContainSubstring("Deployment.apps "+w.namespace+"/web")))
		Expect(condition(release, v1alpha1.ConditionStalled)).To(Equal("True TimedOut"))
		expectSync(v1alpha1.SyncPhaseWave, 0, started)
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
		Expect(w.value("last")).To(BeEmpty())
		w.becomeHealthy("web")
		Expect(applied()).To(Equal("True Succeeded"))
		Expect(w.value("last")).To(Equal("v1"))
		Expect(condition(w.get("app"), v1alpha1.ConditionStalled)).To(BeEmpty())
	})

	It("start the next pass at the deadline, if nothing else does", func() {
		three("v1")
		w.pass("app")
		w.pause(timeout - 10*time.Second)
		Expect(w.pass("app").RequeueAfter).To(And(BeNumerically(">=", 10*time.Second), BeNumerically("<=", 12*time.Second)))
	})

	It("have a deadline each", func() {
		w.commit("v1", map[string]string{
			"a.yaml": deployment("a", "v1"), "b.yaml": inWave(1, deployment("b", "v1")), "last.yaml": inWave(2, configMap("last", "v1")),
		})
		w.pass("app")
		w.pause(timeout - time.Second)
		w.becomeHealthy("a")
		Expect(applied()).To(Equal("Unknown Progressing"))
		expectSync(v1alpha1.SyncPhaseWave, 1, w.clock.Now())
		w.pause(timeout - time.Second)
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.pause(time.Second)
		Expect(applied()).To(Equal("False TimedOut"))
	})

	It("end at once with a failed Job", func() {
		w.commit("v1", map[string]string{"job.yaml": job("migrate"), "last.yaml": inWave(1, configMap("last", "v1"))})
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.end("migrate", false)
		Expect(applied()).To(Equal("False DeployFailed"))
		release := w.get("app")
		Expect(message(release, v1alpha1.ConditionApplied)).To(ContainSubstring("Wave 0 failed: Job.batch " + w.namespace + "/migrate"))
		Expect(w.value("last")).To(BeEmpty())
		Expect(w.events.All()).To(ContainElement(HavePrefix("Warning DeployFailed Wave 0 failed")))
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
	})

	It("wait for a Job to complete, not only to start", func() {
		w.commit("v1", map[string]string{"job.yaml": job("migrate"), "last.yaml": inWave(1, configMap("last", "v1"))})
		w.pass("app")
		setStatus(w.live("batch/v1", "Job", "migrate"), `{"startTime":"2026-01-01T00:00:00Z","active":1,"ready":1}`)
		Expect(applied()).To(Equal("Unknown Progressing"))
		w.end("migrate", true)
		Expect(applied()).To(Equal("True Succeeded"))
		Expect(w.value("last")).To(Equal("v1"))
	})

	It("give way at once to a new commit in the middle", func() {
		three("v1")
		w.pass("app")
		w.pause(timeout)
		Expect(applied()).To(Equal("False TimedOut"))
		three("v2")
		Expect(applied()).To(Equal("Unknown Progressing"), "the deadline is that of the new render")
		expectSync(v1alpha1.SyncPhaseWave, 0, w.clock.Now())
		Expect(w.value("first")).To(Equal("v2"))
		w.commit("v3", map[string]string{"first.yaml": configMap("first", "v3")})
		Expect(applied()).To(Equal("True Succeeded"))
		Expect(w.live("apps/v1", "Deployment", "web")).To(BeNil(), "what a render left behind that was never done is pruned")
		Expect(w.value("first")).To(Equal("v3"))
		Expect(w.history("app")).To(HaveLen(1), "only what was applied in full is in the history")
	})

	It("keep their deadline over a restart of the controller", func() {
		three("v1")
		started := w.clock.Now()
		w.pass("app")
		w.pause(timeout - time.Second)
		w.restart()
		Expect(applied()).To(Equal("Unknown Progressing"))
		expectSync(v1alpha1.SyncPhaseWave, 0, started)
		w.restart()
		w.pause(time.Second)
		Expect(applied()).To(Equal("False TimedOut"))
		w.restart()
		w.becomeHealthy("web")
		Expect(applied()).To(Equal("True Succeeded"))
	})

	It("survive a clock that jumps", func() {
		three("v1")
		w.pass("app")
		started := w.clock.Now()
		w.pause(-24 * time.Hour)
		Expect(applied()).To(Equal("Unknown Progressing"))
		expectSync(v1alpha1.SyncPhaseWave, 0, w.clock.Now())
		w.pause(timeout)
		Expect(applied()).To(Equal("False TimedOut"), "after a jump back the wait takes the timeout, not a day")
		w.clock.SetTime(started.Add(10 * 365 * 24 * time.Hour))
		Expect(applied()).To(Equal("False TimedOut"))
		w.becomeHealthy("web")
		Expect(applied()).To(Equal("True Succeeded"))
		w.clock.SetTime(started)
		w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(writes(during(func() { w.pass("app") }))).To(BeEmpty())
	})

	It("are not in the way of drift once the render was applied in full", func() {
		three("v1")
		w.pass("app")
		w.becomeHealthy("web")
		Expect(applied()).To(Equal("True Succeeded"))
		setStatus(w.live("apps/v1", "Deployment", "web"), `{"availableReplicas":0,"readyReplicas":0,"conditions":[{"type":"Available","status":"False"}]}`)
		merge(w.live("v1", "ConfigMap", "last"), `{"data":{"key":"drifted"}}`)
		Expect(applied()).To(Equal("True Succeeded"))
		Expect(w.value("last")).To(Equal("v1"))
		Expect(condition(w.get("app"), v1alpha1.ConditionHealthy)).To(Equal("Unknown Progressing"))
		remove(w.live("v1", "ConfigMap", "last"))
		Expect(applied()).To(Equal("True Succeeded"))
		Expect(w.value("last")).To(Equal("v1"))
	})
})

var _ = Describe("Health", func() {
	It("is Degraded after spec.timeout, and Healthy again when it is", func() {
		w := newWorld()
		w.create("app")
		w.commit("v1", map[string]string{"web.yaml": deployment("web", "v1")})
		health := func() string {
			GinkgoHelper()
			w.pass("app")
			return condition(w.get("app"), v1alpha1.ConditionHealthy)
		}
		Expect(health()).To(Equal("Unknown Progressing"))
		w.pause(5*time.Minute - time.Second)
		Expect(health()).To(Equal("Unknown Progressing"))
		w.pause(time.Second)
		Expect(health()).To(Equal("False Degraded"))
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("False Degraded"))
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("True Succeeded"))
		Expect(release.Status.LastHealthy).To(BeNil())
		w.becomeHealthy("web")
		Expect(health()).To(Equal("True Succeeded"))
		release = w.get("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"))
		Expect(release.Status.LastHealthy.RenderRef).To(Equal(release.Status.LastSuccessful.RenderRef))

		By("getting worse again, which has its own deadline")
		setStatus(w.live("apps/v1", "Deployment", "web"), `{"availableReplicas":0,"readyReplicas":0,"conditions":[{"type":"Available","status":"False"}]}`)
		w.pause(time.Hour)
		Expect(health()).To(Equal("Unknown Progressing"))
		Expect(w.get("app").Status.LastHealthy.RenderRef).To(Equal(release.Status.LastSuccessful.RenderRef))
		w.pause(5 * time.Minute)
		Expect(health()).To(Equal("False Degraded"))
	})

	It("is Degraded at once if an object says that it has failed", func() {
		w := newWorld()
		w.create("app")
		w.commit("v1", map[string]string{"job.yaml": job("migrate")})
		w.pass("app")
		w.end("migrate", false)
		w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("False Degraded"))
		Expect(message(release, v1alpha1.ConditionHealthy)).To(ContainSubstring("Job.batch " + w.namespace + "/migrate"))
	})

	It("does not miss what was planned and never applied", func() {
		w := newWorld()
		w.create("app")
		w.commit("v1", map[string]string{"a.yaml": configMap("a", "v1")})
		w.settle("app")
		w.commit("v2", map[string]string{"a.yaml": configMap("a", "v1"), "web.yaml": deployment("web", "v2"), "last.yaml": inWave(1, configMap("last", "v2"))})
		w.pass("app")
		w.becomeHealthy("web")
		w.source.Fail(errors.New("no route to host"))
		w.pass("app")
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionRendered)).To(Equal("False SourceFailed"))
		Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionHealthy))
		remove(w.live("v1", "ConfigMap", "a"))
		w.pass("app")
		release = w.get("app")
		Expect(condition(release, v1alpha1.ConditionHealthy)).To(Equal("False Degraded"))
		Expect(message(release, v1alpha1.ConditionHealthy)).To(ContainSubstring("ConfigMap " + w.namespace + "/a"))
	})
})
