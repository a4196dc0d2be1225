package controllers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/apply"
)

// Metrics are the Prometheus metrics of the passes and of the render store.
type Metrics struct {
	steps      *prometheus.HistogramVec
	outcomes   *prometheus.CounterVec
	conditions *prometheus.GaugeVec
	history    *prometheus.GaugeVec
	objects    *prometheus.CounterVec
	drifts     *prometheus.CounterVec
	operations *prometheus.HistogramVec
}

// NewMetrics makes the metrics and registers them. It panics if they are registered already.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	buckets := prometheus.ExponentialBuckets(0.001, 4, 9) // 1 ms to 65 s
	m := &Metrics{
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "convoy_step_duration_seconds", Help: "Time that a step of a pass took.", Buckets: buckets,
		}, []string{"step"}),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "convoy_pass_outcomes_total", Help: "Passes, by what each condition said at their end.",
		}, []string{"condition", "status", "reason"}),
		conditions: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "convoy_release_condition", Help: "1 for what a condition of a Release says now.",
		}, []string{"namespace", "name", "condition", "status", "reason"}),
		history: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "convoy_release_history_entries", Help: "History entries of a Release in the render store.",
		}, []string{"namespace", "name"}),
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "convoy_objects_total", Help: "Target objects, by what was done to them.",
		}, []string{"action"}),
		drifts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "convoy_drift_total", Help: "Target objects that drifted and were put back, by what had happened to them.",
		}, []string{"kind"}),
		operations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "convoy_store_operation_duration_seconds", Help: "Time that an operation on the render store took.", Buckets: buckets,
		}, []string{"operation", "outcome"}),
	}
	for _, kind := range []apply.DriftKind{apply.DriftChanged, apply.DriftDeleted, apply.DriftUnlabelled} {
		m.drifts.WithLabelValues(string(kind)) // or the first one would be no increase to Prometheus
	}
	registry.MustRegister(m.steps, m.outcomes, m.conditions, m.history, m.objects, m.drifts, m.operations)
	return m
}

// StoreOperation notes an operation on the render store.
func (m *Metrics) StoreOperation(operation string, took time.Duration, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "error"
	}
	m.operations.WithLabelValues(operation, outcome).Observe(took.Seconds())
}

// step starts a clock that the returned function stops.
func (m *Metrics) step(name string) func() {
	start := time.Now()
	return func() { m.steps.WithLabelValues(name).Observe(time.Since(start).Seconds()) }
}

func (m *Metrics) object(action apply.Action) { m.objects.WithLabelValues(string(action)).Inc() }

func (m *Metrics) drift(kind apply.DriftKind) { m.drifts.WithLabelValues(string(kind)).Inc() }

func (m *Metrics) outcome(release *v1alpha1.Release, status v1alpha1.ReleaseStatus) {
	m.conditions.DeletePartialMatch(prometheus.Labels{"namespace": release.Namespace, "name": release.Name})
	for _, c := range status.Conditions {
		m.outcomes.WithLabelValues(c.Type, string(c.Status), c.Reason).Inc()
		m.conditions.WithLabelValues(release.Namespace, release.Name, c.Type, string(c.Status), c.Reason).Set(1)
	}
	if retention := status.ResolvedRetentionPolicy; retention != nil {
		m.history.WithLabelValues(release.Namespace, release.Name).Set(float64(retention.HistoryCount))
	}
}

func (m *Metrics) forget(release *v1alpha1.Release) {
	labels := prometheus.Labels{"namespace": release.Namespace, "name": release.Name}
	m.conditions.DeletePartialMatch(labels)
	m.history.DeletePartialMatch(labels)
}
