package gitserver

import (
	"crypto/subtle"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
)

// Handler serves the bare repositories in the folder root for reading, at their paths, over HTTP.
func Handler(root string) http.Handler {
	git, err := exec.LookPath("git")
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		})
	}
	return &cgi.Handler{
		Path: git,
		Args: []string{"http-backend"},
		Dir:  root,
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull,
		},
		Stderr: io.Discard,
		Logger: log.New(io.Discard, "", 0), // clients that go away in the middle
	}
}

// authenticate lets only requests with the credentials through to next.
func authenticate(o Options, next http.Handler) http.Handler {
	if o.Password == "" && o.BearerToken == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		username, password, _ := req.BasicAuth()
		basic := o.Password != "" && equal(username, o.Username) && equal(password, o.Password)
		bearer := o.BearerToken != "" && equal(req.Header.Get("Authorization"), "Bearer "+o.BearerToken)
		if !basic && !bearer {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "credentials please", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, req)
	})
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
