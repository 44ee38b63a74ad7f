package source

import (
	"bytes"
	"io"
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
func unread(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Head, atom.Iframe, atom.Object:
		return true
	}
	return false
}

// inline are elements that do not end a line.
func inline(a atom.Atom) bool {
	switch a {
	case atom.A, atom.B, atom.I, atom.U, atom.Em, atom.Strong, atom.Span, atom.Code, atom.Small, atom.Sub, atom.Sup, atom.Abbr, atom.Mark, atom.Kbd, atom.Q, atom.Img:
		return true
	}
	return false
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
			if err := z.Err(); err != io.EOF {
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
			case hidden == 0 && unread(a) && kind == html.StartTagToken:
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
			if !inline(a) {
				end()
			}
		case html.CommentToken, html.DoctypeToken:
		}
	}
}
