package task

// Opt is a field of an edit: absent, null or a value.
type Opt[T any] struct {
	Set   bool // false: leave it alone
	Value *T   // nil: clear it
}

// Or returns the edited value of a field.
func (o Opt[T]) Or(present *T) *T {
	if o.Set {
		return o.Value
	}
	return present
}
