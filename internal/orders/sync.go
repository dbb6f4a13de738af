package orders

import "sync"

// These are the types of package sync itself. Calls of their methods are not points.
type (
	Locker    = sync.Locker
	Pool      = sync.Pool
	WaitGroup = sync.WaitGroup
)

// Mutex stands in for [sync.Mutex].
type Mutex struct {
	real   sync.Mutex // used while no order runs
	locked bool
}

func (m *Mutex) Lock() {
	if now == nil {
		m.real.Lock()
		return
	}
	wait(func() bool { return !m.locked })
	m.locked = true
}

func (m *Mutex) TryLock() bool {
	if now == nil {
		return m.real.TryLock()
	}
	Point()
	if m.locked {
		return false
	}
	m.locked = true
	return true
}

func (m *Mutex) Unlock() {
	if now == nil {
		m.real.Unlock()
		return
	}
	if !m.locked {
		panic("orders: Unlock of an unlocked Mutex")
	}
	m.locked = false
	Point()
}

// RWMutex stands in for [sync.RWMutex].
type RWMutex struct {
	real    sync.RWMutex // used while no order runs
	locked  bool
	readers int
}

func (m *RWMutex) Lock() {
	if now == nil {
		m.real.Lock()
		return
	}
	wait(func() bool { return !m.locked && m.readers == 0 })
	m.locked = true
}

func (m *RWMutex) Unlock() {
	if now == nil {
		m.real.Unlock()
		return
	}
	m.locked = false
	Point()
}

func (m *RWMutex) RLock() {
	if now == nil {
		m.real.RLock()
		return
	}
	wait(func() bool { return !m.locked })
	m.readers++
}

func (m *RWMutex) RUnlock() {
	if now == nil {
		m.real.RUnlock()
		return
	}
	m.readers--
	Point()
}

// Once stands in for [sync.Once].
type Once struct {
	m    Mutex
	done bool
}

func (o *Once) Do(f func()) {
	o.m.Lock()
	defer o.m.Unlock()
	if !o.done {
		defer func() { o.done = true }()
		f()
	}
}

// OnceValue stands in for [sync.OnceValue].
func OnceValue[T any](f func() T) func() T {
	var once Once
	var value T
	return func() T {
		once.Do(func() { value = f() })
		return value
	}
}
