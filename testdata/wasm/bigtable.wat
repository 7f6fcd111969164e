;; Starts with a table of 2^26 entries.
(module (memory (export "memory") 1) (table 67108864 funcref) (func (export "_start")))
