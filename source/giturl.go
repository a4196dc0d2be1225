package source

import (
	"errors"
	"net/url"
	"strings"
)

// parseGitURL checks the URL of a repository. Its errors never show the URL, which may hold credentials.
func parseGitURL(raw string, allowFile bool) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the url is malformed") // the cause quotes it
	}
	_, hasPassword := u.User.Password()
	switch {
	case hasPassword, u.User != nil && u.Scheme != "ssh":
		return nil, errors.New("the url must not contain credentials: put them into the Secret that secretRef names")
	case u.RawQuery != "", u.Fragment != "", u.ForceQuery:
		return nil, errors.New("the url must not have a query or a fragment")
	case u.Scheme == "file" && !allowFile:
		return nil, errors.New("file:// URLs are not allowed here: the flag --allow-file-urls turns them on")
	case u.Scheme == "file" && (u.Host != "" || !strings.HasPrefix(u.Path, "/")):
		return nil, errors.New("a file:// URL must have an absolute path, for example file:///srv/git/app.git")
	case u.Scheme == "file":
		return u, nil
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh":
		return nil, errors.New("the url must start with https://, http://, ssh:// or file://")
	case u.Hostname() == "" || strings.Trim(u.Path, "/") == "":
		return nil, errors.New("the url must have a host and a path, for example https://example.com/team/app.git")
	}
	return u, nil
}
