package admin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
)

// The status page: one document, three scripts, one style sheet, one picture, and nothing from elsewhere.
//
//go:embed web
var web embed.FS

// policy lets the page load its own files and talk to its own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var pageFiles = []struct{ route, name, mediaType string }{
	{"/{$}", "index.html", "text/html; charset=utf-8"},
	{"/app.js", "app.js", "text/javascript; charset=utf-8"},
	{"/chart.js", "chart.js", "text/javascript; charset=utf-8"},
	{"/table.js", "table.js", "text/javascript; charset=utf-8"},
	{"/style.css", "style.css", "text/css; charset=utf-8"},
	{"/icon.svg", "icon.svg", "image/svg+xml"},
}

func (s *Server) pageRoutes(open func(string, http.HandlerFunc)) {
	for _, f := range pageFiles {
		body, err := web.ReadFile("web/" + f.name)
		if err != nil {
			panic("admin: the page lacks " + f.name)
		}
		sum := sha256.Sum256(body)
		open("GET "+f.route, pageFile(body, f.mediaType, `"`+hex.EncodeToString(sum[:8])+`"`))
	}
}

func pageFile(body []byte, mediaType, tag string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", mediaType)
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(body)
	}
}
