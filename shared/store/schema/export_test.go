package schema

// What the tests see, which are outside the package because their databases are made with it.
var (
	Render = render
	Open   = open
	Await  = await
	Quote  = quote
)

// RenderedDSQL is the text of each statement.
func RenderedDSQL() (all []string, err error) {
	rendered, err := statements()
	for _, s := range rendered {
		all = append(all, s.sql)
	}
	return all, err
}
