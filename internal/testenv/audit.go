package testenv

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/yaml"
)

// writeVerbs are the verbs by which a request may change something.
var writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}

// WithAuditLog makes the API server record every request; see Requests.
func WithAuditLog() Option {
	return func(e *Environment) error {
		policy, err := yaml.Marshal(auditv1.Policy{
			TypeMeta: metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
			Rules:    []auditv1.PolicyRule{{Level: auditv1.LevelRequest, Verbs: writeVerbs}, {Level: auditv1.LevelMetadata}},
		})
		if err != nil {
			return err
		}
		e.auditLog = filepath.Join(e.dir, "audit.log")
		apiServer := e.envtest.ControlPlane.GetAPIServer().Configure()
		apiServer.Set("audit-policy-file", filepath.Join(e.dir, "audit-policy.yaml"))
		apiServer.Set("audit-log-path", e.auditLog)
		apiServer.Set("audit-log-mode", "blocking") // a request is in the log before it is served
		return os.WriteFile(filepath.Join(e.dir, "audit-policy.yaml"), policy, 0o600)
	}
}

// Requests are the requests that the API server has received so far, in that order. It needs WithAuditLog.
//
// A request whose answer somebody has seen is there. Its body and its response code may come a moment later, with the stage
// ResponseComplete.
func (e *Environment) Requests(tb testing.TB) []auditv1.Event {
	tb.Helper()
	return e.RequestsSince(tb, 0)
}

// Now is the end of the audit log, for RequestsSince.
func (e *Environment) Now(tb testing.TB) int {
	tb.Helper()
	return bytes.LastIndexByte(e.readAuditLog(tb), '\n') + 1
}

// RequestsSince are the Requests without those that were in the log before.
func (e *Environment) RequestsSince(tb testing.TB, position int) []auditv1.Event {
	tb.Helper()
	log := e.readAuditLog(tb)[position:]
	var requests []auditv1.Event
	at := map[types.UID]int{}
	for line := range bytes.Lines(log) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // still being written
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			tb.Fatalf("read the audit log: %v", err)
		}
		i, seen := at[event.AuditID]
		switch {
		case seen:
			requests[i] = event // a later stage of the same request
		case event.Stage == auditv1.StageRequestReceived:
			at[event.AuditID] = len(requests)
			requests = append(requests, event)
		}
	}
	return requests
}

func (e *Environment) readAuditLog(tb testing.TB) []byte {
	tb.Helper()
	if e.auditLog == "" {
		tb.Fatal("the environment has no audit log: start it with testenv.WithAuditLog()")
	}
	log, err := os.ReadFile(e.auditLog)
	if err != nil {
		tb.Fatalf("read the audit log: %v", err)
	}
	return log
}

// IsWrite says that a request may have changed something: it has a verb of a write, and is no dry run.
func IsWrite(request auditv1.Event) bool {
	return slices.Contains(writeVerbs, request.Verb) && !IsDryRun(request)
}

// IsDryRun says that a request asked the API server to change nothing. A delete says so in its body; see Requests.
func IsDryRun(request auditv1.Event) bool {
	all := []string{metav1.DryRunAll}
	if uri, err := url.ParseRequestURI(request.RequestURI); err == nil && slices.Equal(uri.Query()["dryRun"], all) {
		return true
	}
	var options metav1.DeleteOptions
	return request.Verb == "delete" && request.RequestObject != nil &&
		json.Unmarshal(request.RequestObject.Raw, &options) == nil && slices.Equal(options.DryRun, all)
}
