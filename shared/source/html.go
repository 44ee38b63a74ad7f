package source

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// textOf is a page's text in UTF-8: of HTML what people read of it.
func textOf(raw []byte, contentType string, isHTML bool) ([]byte, error) {
	in, err := charset.NewReader(bytes.NewReader(raw), contentType)
	if err != nil {
		return nil, errNoText
	}
	if isHTML {
		return readHTML(in)
	}
	return io.ReadAll(in)
}

// unread are elements whose content nobody reads.
var unread = []atom.Atom{atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Head, atom.Iframe, atom.Object}

// inline are elements that do not end a line.
var inline = []atom.Atom{
	atom.A, atom.B, atom.I, atom.U, atom.Em, atom.Strong, atom.Span, atom.Code, atom.Small, atom.Sub, atom.Sup, atom.Abbr, atom.Mark,
	atom.Kbd, atom.Q, atom.Img,
}

func readHTML(in io.Reader) ([]byte, error) {
	var lines []string
	var line strings.Builder
	end := func() {
		if text := strings.Join(strings.Fields(line.String()), " "); text != "" {
			lines = append(lines, text)
		}
		line.Reset()
	}
	hidden := atom.Atom(0) // the unread element that is open
	depth := 0             // of elements of its name
	z := html.NewTokenizer(in)
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			end()
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return nil, err
			}
			return []byte(strings.Join(lines, "\n") + "\n"), nil
		case html.TextToken:
			if hidden == 0 {
				line.Write(z.Text())
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			a := atom.Lookup(name)
			switch {
			case hidden == 0 && slices.Contains(unread, a) && kind == html.StartTagToken:
				hidden, depth = a, 1
			case hidden != 0 && a == hidden && kind == html.StartTagToken:
				depth++
			case hidden != 0 && a == hidden && kind == html.EndTagToken:
				if depth--; depth == 0 {
					hidden = 0
				}
			case a == atom.Body: // a head that nobody closed ends here
				hidden = 0
			}
			if !slices.Contains(inline, a) {
				end()
			}
		case html.CommentToken, html.DoctypeToken:
		}
	}
}
