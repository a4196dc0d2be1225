package source

import (
	"strings"
	"testing"

	"github.com/convoy-dev/convoy/internal/gitserver"
)

func TestURLsThatCannotBeUsedAreRefusedWithoutShowingThem(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	for raw, want := range map[string]string{
		"https://bob:s3cr3t@example.com/app.git":      "must not contain credentials",
		"https://s3cr3t@example.com/app.git":          "must not contain credentials",
		"http://bob:s3cr3t@example.com/app.git":       "must not contain credentials",
		"ssh://git:s3cr3t@example.com/app.git":        "must not contain credentials",
		"https://example.com/app.git?token=s3cr3t":    "must not have a query",
		"https://example.com/app.git#s3cr3t":          "must not have a query or a fragment",
		"https://bob:s3cr3t @example.com/app.git":     "malformed",
		"https://bob:s3cr3t@example.com:port/app.git": "malformed",
		"https://example.com/%zz/s3cr3t":              "malformed",
		"https://example.com":                         "must have a path",
		"https:///app.git":                            "must have a host",
		"git://example.com/app.git":                   "must start with https://",
		"git@example.com:team/app.git":                "malformed",
		"file:///srv/app.git":                         "--allow-file-urls",
		"":                                            "must start with https://",
	} {
		t.Run(raw, func(t *testing.T) {
			_, err := w.fetcher.Fetch(t.Context(), gitRequest(raw, mainBranch, ""))
			wantError(t, err, "fetch Git repository: ", want)
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error shows the url: %v", err)
			}
		})
	}
}

func TestFileURLsMustBeAbsolute(t *testing.T) {
	for _, raw := range []string{"file://host/app.git", "file:app.git", "file://"} {
		if _, err := parseGitURL(raw, true); err == nil {
			t.Errorf("%s is accepted", raw)
		}
	}
	if _, err := parseGitURL("file:///srv/git/app.git", true); err != nil {
		t.Error(err)
	}
}

func TestCredentialsThatCannotBeUsedAreNamed(t *testing.T) {
	w := newWorld(t, gitserver.Options{})
	w.cluster.set(
		secret("both", map[string]string{"username": "bob", "password": "s3cr3t", "bearerToken": "s3cr3t"}),
		secret("no-password", map[string]string{"username": "bob"}),
		secret("no-username", map[string]string{"password": "s3cr3t"}),
		secret("empty", map[string]string{"username": "", "password": "\n"}),
		secret("ssh", map[string]string{"identity": "s3cr3t", "known_hosts": "s3cr3t"}),
	)
	const https, http = "https://example.com/app.git", "http://example.com/app.git"
	for _, test := range []struct{ url, secret, want string }{
		{https, "both", "Secret team/both: both bearerToken and username or password are set"},
		{https, "no-password", `Secret team/no-password: key "password" is missing or empty: an https:// URL takes username and password`},
		{https, "no-username", `Secret team/no-username: key "username" is missing or empty: an https:// URL takes username and password`},
		{https, "empty", `Secret team/empty: key "password" is missing or empty`},
		{https, "ssh", "Secret team/ssh: none of the keys expected is there: an https:// URL takes username and password, or bearerToken"},
		{https, "none", "Secret team/none does not exist"},
		{http, "both", "no credentials are sent over http://: use https:// or ssh://"},
	} {
		t.Run(test.secret+" over "+test.url[:5], func(t *testing.T) {
			_, err := w.fetcher.Fetch(t.Context(), gitRequest(test.url, mainBranch, test.secret))
			wantError(t, err, "fetch "+test.url+": ", test.want)
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}
