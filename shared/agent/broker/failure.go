package broker

import "companyos/shared/agent/provider"

// Failure is a refusal of the provider.
type Failure = provider.Failure

// Failure returns the provider's last refusal if no answer came after it, nil for none.
func (b *Broker) Failure() *Failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failure
}

func (b *Broker) failed(f *Failure) {
	b.mu.Lock()
	b.failure = f
	b.mu.Unlock()
	if b.Failed != nil {
		b.Failed(*f)
	}
}
