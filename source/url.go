package source

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// The schemes of URLs.
const (
	schemeHTTPS = "https"
	schemeHTTP  = "http"
	schemeSSH   = "ssh"
	schemeFile  = "file"
)

// parseGitURL checks the URL of a repository.
func parseGitURL(raw string, allowFile bool) (*url.URL, error) {
	u, err := parseURL(raw, "https://example.com/team/app.git", schemeHTTPS, schemeHTTP, schemeSSH, schemeFile)
	if err == nil && u.Scheme == schemeFile {
		err = checkFileURL(u, allowFile)
	}
	return u, err
}

// parseURL checks a URL, which must have a host and a path as the example has. Its errors never show the URL, which may hold credentials.
func parseURL(raw, example string, schemes ...string) (*url.URL, error) {
	u, err := parseHostURL(raw, example, schemes...)
	if err == nil && u.Scheme != schemeFile && strings.Trim(u.Path, "/") == "" {
		return nil, errors.New("the url must have a path, for example " + example)
	}
	return u, err
}

// parseHostURL checks a URL as parseURL does, that may be the root of a host.
func parseHostURL(raw, example string, schemes ...string) (*url.URL, error) {
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
	case !slices.Contains(schemes, u.Scheme):
		return nil, errors.New("the url must start with " + alternatives(schemes))
	case u.Scheme != schemeFile && u.Hostname() == "":
		return nil, errors.New("the url must have a host, for example " + example)
	}
	return u, nil
}

// alternatives is "a://, b:// or c://".
func alternatives(schemes []string) string {
	last := len(schemes) - 1
	if last == 0 {
		return schemes[0] + "://"
	}
	return strings.Join(schemes[:last], "://, ") + ":// or " + schemes[last] + "://"
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
