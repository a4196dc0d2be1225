package source

import (
	"context"
	"net/url"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// conversation is one talk with the git-upload-pack of a repository: it lists references, then sends objects. Every call ends with
// its context at the latest, and so does reading the response.
type conversation interface {
	AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error)
	UploadPack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error)
	Close() error
}

// dialer starts conversations.
type dialer struct {
	limits limits
	tmp    string // a folder for temporary files
}

func (d dialer) dial(ctx context.Context, u *url.URL, c credentials) (conversation, error) {
	switch u.Scheme {
	case schemeHTTPS, schemeHTTP:
		return d.dialHTTP(u, c)
	case schemeSSH:
		return d.dialSSH(ctx, u, c)
	default:
		return d.dialFile(ctx, u)
	}
}
