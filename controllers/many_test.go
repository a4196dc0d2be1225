package controllers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// sizeOf is the size of an object in a request.
func sizeOf(obj any) int {
	GinkgoHelper()
	encoded, err := json.Marshal(obj)
	Expect(err).NotTo(HaveOccurred())
	return len(encoded)
}

var _ = Describe("A Release of 10,000 ConfigMaps", func() {
	const many = 10_000
	// most is far below the 1.5 MiB that etcd takes in one request.
	const most = 300 << 10

	// timed runs a pass and reports how long it took.
	timed := func(w *world, what string) {
		GinkgoHelper()
		start := time.Now()
		w.pass("app")
		AddReportEntry(what, time.Since(start).Round(time.Millisecond).String())
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionReady)).To(Equal("True Succeeded"), message(release, v1alpha1.ConditionReady))
	}

	It("works, and a change of one writes one Inventory, that ConfigMap, and the status", func() {
		clusterOfItsOwn()
		w := newWorld()
		w.create("app")
		manifests := make([]string, many)
		for i := range manifests {
			manifests[i] = configMap(fmt.Sprintf("cm-%05d", i), "one")
		}
		commit := func(revision string) {
			w.commit(revision, map[string]string{"all.yaml": strings.Join(manifests, "---\n")})
		}
		commit("v1")
		timed(w, "the first pass")
		Expect(w.value("cm-09999")).To(Equal("one"))
		Expect(w.recorded("app")).To(HaveLen(many))
		shards := w.shards("app")
		Expect(shards).To(HaveLen(many / v1alpha1.MaxInventoryEntries))
		for _, shard := range shards {
			Expect(sizeOf(shard)).To(BeNumerically("<", most))
		}
		Expect(sizeOf(w.get("app"))).To(BeNumerically("<", most))

		before := map[string]string{}
		for _, shard := range shards {
			before[shard.Name] = shard.ResourceVersion
		}
		manifests[4321] = configMap("cm-04321", "two")
		commit("v2")
		requests := during(func() { timed(w, "a pass with one change") })
		Expect(w.value("cm-04321")).To(Equal("two"))
		var changed string
		for _, shard := range w.shards("app") {
			if before[shard.Name] != shard.ResourceVersion {
				Expect(changed).To(BeEmpty(), "more than one Inventory changed")
				changed = shard.Name
			}
		}
		Expect(writes(requests)).To(ConsistOf(
			"patch configmaps "+w.namespace+"/cm-04321",
			"update inventories "+w.namespace+"/"+changed,
			"patch releases/status "+w.namespace+"/app",
		))
		Expect(writes(during(func() { timed(w, "a pass without a change") }))).To(BeEmpty())

		manifests[1234] = configMap("cm-01234", "three")
		manifests[2345] = configMap("cm-02345", "three") + "immutable: maybe\n"
		commit("v3")
		requests = during(func() { w.pass("app") })
		release := w.get("app")
		Expect(condition(release, v1alpha1.ConditionApplied)).To(Equal("False DryRunFailed"))
		Expect(message(release, v1alpha1.ConditionApplied)).To(And(ContainSubstring("/cm-02345: "), ContainSubstring("immutable"), Not(ContainSubstring("cm-01234"))))
		Expect(len(message(release, v1alpha1.ConditionApplied))).To(BeNumerically("<", 500))
		Expect(writes(requests)).To(ConsistOf("patch releases/status " + w.namespace + "/app"))
		manifests[2345] = configMap("cm-02345", "three")
		commit("v4")
		timed(w, "a pass once the one that was wrong is mended")
		Expect(w.value("cm-02345")).To(Equal("three"))
	})
})
