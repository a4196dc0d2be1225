package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// metrics are convoy's own metrics: a value by name and labels, of a histogram its count.
func (p *process) metrics() map[string]float64 {
	p.t.Helper()
	code, text := p.get(p.metricsURL)
	if code != http.StatusOK {
		p.t.Fatalf("metrics: %d %s", code, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		p.t.Fatal(err)
	}
	got := map[string]float64{}
	for name, family := range families {
		if !strings.HasPrefix(name, "convoy_") {
			continue
		}
		for _, m := range family.GetMetric() {
			got[name+labelsOf(m)] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got
}

func labelsOf(m *dto.Metric) string {
	var labels []string
	for _, pair := range m.GetLabel() {
		labels = append(labels, pair.GetName()+"="+pair.GetValue())
	}
	return "{" + strings.Join(labels, ",") + "}"
}

func TestMetricsSayWhatHappened(t *testing.T) {
	w := newTeam(t)
	w.setSource(version1)
	p := startManager(t, w.env.Kubeconfig, "--render-store-url="+w.storeURL())
	w.create("app", fromSource, hourly)
	w.awaitHistory("app", 1)
	w.setSource(version2)
	w.awaitHistory("app", 2)
	release := "name=app,namespace=" + w.namespace
	exactly := map[string]float64{
		"convoy_objects_total{action=created}":            3,
		"convoy_objects_total{action=configured}":         1,
		"convoy_objects_total{action=deleted}":            1,
		"convoy_release_history_entries{" + release + "}": 2,
		condition(release, v1alpha1.ConditionReady):       1,
		condition(release, v1alpha1.ConditionRendered):    1,
		condition(release, v1alpha1.ConditionApplied):     1,
		condition(release, v1alpha1.ConditionHealthy):     1,
	}
	w.eventually("the metrics", func() error {
		got := p.metrics()
		maps.DeleteFunc(got, func(name string, _ float64) bool {
			_, ok := exactly[name]
			return !ok && !strings.Contains(name, release)
		})
		if diff := cmp.Diff(exactly, got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})

	atLeast := map[string]float64{
		"convoy_pass_outcomes_total{condition=Ready,reason=Succeeded,status=True}": 2,
		"convoy_store_operation_duration_seconds{operation=write,outcome=ok}":      4,
		"convoy_store_operation_duration_seconds{operation=list,outcome=ok}":       2,
	}
	for _, step := range []string{"fetch", "render", "plan", "store", "apply", "assess", "record", "report"} {
		atLeast["convoy_step_duration_seconds{step="+step+"}"] = 2
	}
	got := p.metrics()
	for name, least := range atLeast {
		if got[name] < least {
			t.Errorf("%s is %v, want at least %v", name, got[name], least)
		}
	}
	wantDocumented(t, got)

	w.must(w.env.Client.Delete(t.Context(), w.get("app")))
	w.awaitReleaseGone("app")
	w.eventually("the metrics of the Release to be gone", func() error {
		for name := range p.metrics() {
			if strings.Contains(name, release) {
				return fmt.Errorf("%s is there", name)
			}
		}
		return nil
	})
}

func condition(release, condition string) string {
	return fmt.Sprintf("convoy_release_condition{condition=%s,%s,reason=Succeeded,status=True}", condition, release)
}

// wantDocumented compares the names of the metrics with those that the manual lists, but for those of convoy-observer.
func wantDocumented(t *testing.T, got map[string]float64) {
	t.Helper()
	manual, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(convoy_[a-z_]+)`").FindAllStringSubmatch(string(manual), -1) {
		if !strings.HasPrefix(row[1], "convoy_observer_") {
			documented[row[1]] = true
		}
	}
	served := map[string]bool{}
	for name := range got {
		name, _, _ = strings.Cut(name, "{")
		served[name] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(served))); diff != "" {
		t.Errorf("metrics (-in docs/operations.md +served):\n%s", diff)
	}
}

func TestProbesAnswer(t *testing.T) {
	w := newTeam(t)
	p := startManager(t, w.env.Kubeconfig)
	for _, probe := range []string{"/readyz", "/healthz"} {
		w.eventually(probe, func() error {
			if code, text := p.get(p.probesURL + probe); code != http.StatusOK {
				return fmt.Errorf("%d %s", code, text)
			}
			return nil
		})
	}
}
