/* boot.S - from multiboot to guest_main() in 32-bit protected mode, and the interrupt stubs.
 *
 * QEMU's -kernel option loads a multiboot image itself, so the guest needs no boot loader, no
 * disk and no operating system: it is up in half a second of BIOS time.
 */
        .set MAGIC, 0x1BADB002
        .set FLAGS, 0x00000002          /* we want the memory size */

        .section .multiboot, "a"
        .align 4
        .long MAGIC, FLAGS, -(MAGIC + FLAGS)

        .text
        .code32
        .globl _start
_start:
        cli
        movl $stack_top, %esp
        pushl %ebx                      /* the multiboot information */
        lgdt gdt_pointer
        ljmp $0x08, $in_own_segments
in_own_segments:
        movw $0x10, %ax
        movw %ax, %ds
        movw %ax, %es
        movw %ax, %fs
        movw %ax, %gs
        movw %ax, %ss
        call guest_main
stopped:
        hlt
        jmp stopped

        .globl on_timer, on_other
on_timer:
        pushl %eax
        incl ticks
        movb $0x20, %al
        outb %al, $0x20
        popl %eax
        iret
on_other:
        pushl %eax
        movb $0x20, %al
        outb %al, $0xA0
        outb %al, $0x20
        popl %eax
        iret

        .data
        .align 8
gdt:
        .quad 0                         /* null, flat code, flat data */
        .quad 0x00cf9a000000ffff
        .quad 0x00cf92000000ffff
gdt_pointer:
        .word 23
        .long gdt

        .bss
        .align 16
        .skip 16384
stack_top:

        .section .note.GNU-stack, "", @progbits
