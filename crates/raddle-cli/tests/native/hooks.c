// Hooks that do nothing, for linking.
void __tsan_init(void) {}
void __tsan_read4(void *address) { (void)address; }
void __tsan_read8(void *address) { (void)address; }
void __tsan_write4(void *address) { (void)address; }
