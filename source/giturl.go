package source

import (
	"errors"
	"net/url"
	"strings"
)

// The schemes of a repository's URL.
const (
	schemeHTTPS = "https"
	schemeHTTP  = "http"
	schemeSSH   = "ssh"
	schemeFile  = "file"
)

// parseGitURL checks the URL of a repository. Its errors never show the URL, which may hold credentials.
func parseGitURL(raw string, allowFile bool) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the url is malformed") // the cause quotes it
	}
	_, hasPassword := u.User.Password()
	switch {
	case hasPassword, u.User != nil && u.Scheme != schemeSSH:
		return nil, errors.New("the url must not contain credentials: put them into the Secret that secretRef names")
	case u.RawQuery != "", u.Fragment != "", u.ForceQuery:
		return nil, errors.New("the url must not have a query or a fragment")
	case u.Scheme == schemeFile:
		return u, checkFileURL(u, allowFile)
	case u.Scheme != schemeHTTPS && u.Scheme != schemeHTTP && u.Scheme != schemeSSH:
		return nil, errors.New("the url must start with https://, http://, ssh:// or file://")
	case u.Hostname() == "" || strings.Trim(u.Path, "/") == "":
		return nil, errors.New("the url must have a host and a path, for example https://example.com/team/app.git")
	}
	return u, nil
}

func checkFileURL(u *url.URL, allowed bool) error {
	switch {
	case !allowed:
		return errors.New("file:// URLs are not allowed here: the flag --allow-file-urls turns them on")
	case u.Host != "" || !strings.HasPrefix(u.Path, "/"):
		return errors.New("a file:// URL must have an absolute path, for example file:///srv/git/app.git")
	}
	return nil
}
