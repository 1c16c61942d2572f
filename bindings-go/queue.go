package trunkline

import "sync"

// A queue keeps items until they are taken. Putting never waits, because callbacks must not.
type queue[T any] struct {
	lock   sync.Mutex
	change *sync.Cond
	items  []T
	limit  int
	closed bool
}

func newQueue[T any](limit int) *queue[T] {
	made := &queue[T]{limit: limit}
	made.change = sync.NewCond(&made.lock)
	return made
}

// put adds an item, unless the queue is full.
func (queue *queue[T]) put(item T) bool {
	queue.lock.Lock()
	defer queue.lock.Unlock()
	if len(queue.items) >= queue.limit {
		return false
	}
	queue.items = append(queue.items, item)
	queue.change.Signal()
	return true
}

func (queue *queue[T]) close() {
	queue.lock.Lock()
	queue.closed = true
	queue.lock.Unlock()
	queue.change.Broadcast()
}

// get takes the next item. At the end, it returns false.
func (queue *queue[T]) get() (T, bool) {
	queue.lock.Lock()
	defer queue.lock.Unlock()
	var item T
	for len(queue.items) == 0 {
		if queue.closed {
			return item, false
		}
		queue.change.Wait()
	}
	item = queue.items[0]
	queue.items = queue.items[1:]
	return item, true
}
