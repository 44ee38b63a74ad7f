package process

import (
	"os"
	"sync"
	"testing"
)

// Users are the host's, whichever launcher asks: none is given twice in a row of many. Without root there are none to give.
func TestUsersAreGivenOnce(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		if uid, err := nextUID(); err == nil {
			t.Errorf("an ordinary user was given user %d", uid)
		}
		return
	}
	var mu sync.Mutex
	given := map[int]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				uid, err := nextUID()
				mu.Lock()
				if err != nil || given[uid] || uid < firstUID || uid > lastUID {
					t.Errorf("user %d, %v, given before: %t", uid, err, given[uid])
				}
				given[uid] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
}
