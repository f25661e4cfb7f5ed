int chatroom_shim(void){return 0;}
