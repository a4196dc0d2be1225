package observer

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the Prometheus metrics of the requests and of the render store.
type Metrics struct {
	requests   *prometheus.HistogramVec
	operations *prometheus.HistogramVec
}

// NewMetrics makes the metrics and registers them. It panics if they are registered already.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	buckets := prometheus.ExponentialBuckets(0.001, 4, 9) // 1 ms to 65 s
	m := &Metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "convoy_observer_request_duration_seconds", Help: "Time that the answer to a request took.", Buckets: buckets,
		}, []string{"subresource", "code"}),
		operations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "convoy_store_operation_duration_seconds", Help: "Time that an operation on the render store took.", Buckets: buckets,
		}, []string{"operation", "outcome"}),
	}
	registry.MustRegister(m.requests, m.operations)
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

func (m *Metrics) request(subresource string, code int, took time.Duration) {
	m.requests.WithLabelValues(subresource, strconv.Itoa(code)).Observe(took.Seconds())
}
